"""kind: kv_cache
name: PastKeyValues
style: Hugging Face legacy spirit, past kept as one stacked (2, batch, heads, seq, d) tensor in a dict"""
from typing import Dict, Optional, Tuple

import torch


class PastKeyValues:
    def __init__(self) -> None:
        self.state: Dict[str, Optional[torch.Tensor]] = {"past": None}

    def get_seq_length(self) -> int:
        past = self.state["past"]
        return 0 if past is None else past.shape[-2]

    __len__ = get_seq_length

    def update(self, key: torch.Tensor, value: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        present = torch.stack((key, value))
        if self.state["past"] is not None:
            present = torch.cat((self.state["past"], present), dim=-2)
        self.state["past"] = present
        k, v = present.unbind(0)
        return k, v
