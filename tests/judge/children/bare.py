"""The package without its `__init__`, which imports torch: most of what is tried needs none, and it takes long."""

import sys
import types
from pathlib import Path

package = types.ModuleType("transformer_edu")
package.__path__ = [str(Path(__file__).parents[3] / "transformer_edu")]
sys.modules["transformer_edu"] = package
