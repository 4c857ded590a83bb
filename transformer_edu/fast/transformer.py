"""A Transformer whose searches compute their masks once and write into preallocated buffers."""

from transformer_edu import transformer
from transformer_edu.fast.cache import SearchCache
from transformer_edu.fast.search import current_search
from transformer_edu.support.shapes import Bool, Ids, Tensor


class Transformer(transformer.Transformer):
    """`transformer_edu.Transformer` in all but speed."""

    def start_cache(self) -> SearchCache:
        """An empty cache for decoding a batch step by step."""
        return SearchCache(self.config.num_layers)

    def source_mask(self, source: Ids) -> Bool[Tensor, "batch 1 1 seq"]:
        """As in the plain class; the same tensor at every step of a search."""
        search = current_search()
        return super().source_mask(source) if search is None else search.source_mask(source, self.config.pad_id)

    def target_mask(self, target: Ids, offset: int = 0) -> Bool[Tensor, "batch 1 q_len k_len"] | None:
        """As in the plain class; None for a newest token that may look at all that was written."""
        newest_alone = current_search() is not None and offset == target.shape[1] - 1
        if newest_alone and target.is_cpu and not bool((target == self.config.pad_id).any()):
            return None
        return super().target_mask(target, offset)
