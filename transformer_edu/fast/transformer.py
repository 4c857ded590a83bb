"""A Transformer whose searches compute their masks once, write into preallocated buffers and keep no history."""

from transformer_edu import transformer
from transformer_edu.decoding.writer import MemoryWriter
from transformer_edu.fast.cache import SearchCache
from transformer_edu.fast.search import Search, current_search
from transformer_edu.support.shapes import Bool, Float, Ids, Tensor


class QuickWriter(MemoryWriter):
    """A `MemoryWriter` with what its search computes once."""

    def __init__(self, model: transformer.Transformer, source: Ids) -> None:
        super().__init__(model, source)
        self.search = Search(model)

    def next_logits(self, newest: Ids) -> Float[Tensor, "batch vocab"]:
        """Scores of the next token; the quick classes of this thread find the search meanwhile."""
        with self.search.in_use():
            x = self.model.decode(newest, self.memory, self.source, self.cache)
        return self.model.project(x[:, -1:])[:, 0]  # which whoever asked may write into


class Transformer(transformer.Transformer):
    """`transformer_edu.Transformer` in all but speed."""

    def start_cache(self) -> SearchCache:
        """An empty cache for decoding a batch step by step."""
        return SearchCache(self.config.num_layers)

    def start(self, source: Ids) -> QuickWriter:
        """Read the source; what comes back writes its translations."""
        return QuickWriter(self, source)

    def source_mask(self, source: Ids) -> Bool[Tensor, "batch 1 1 seq"]:
        """Hide the source's padding; the same tensor at every step of a search."""
        search = current_search()
        return super().source_mask(source) if search is None else search.source_mask(source, self.config.pad_id)

    def target_mask(  # type: ignore[override]  # attention takes None for a mask that hides nothing
        self, target: Ids, offset: int = 0
    ) -> Bool[Tensor, "batch 1 q_len k_len"] | None:
        """Causal and padding mask together; None for a newest token that may look at all that was written."""
        newest_alone = current_search() is not None and offset == target.shape[1] - 1
        if newest_alone and target.is_cpu and not bool((target == self.config.pad_id).any()):
            return None
        return super().target_mask(target, offset)
