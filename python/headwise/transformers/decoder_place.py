"""Where the queries of cross-attention stand.

The masks of cross-attention do not say it while a cache is read; the self-attention
of the same layer of the decoder, which comes before, does.
"""

from __future__ import annotations

from headwise.transformers.attention_call import AttentionCall
from headwise.transformers.watched import Attended, Edit, Place


class DecoderPlace(Edit):
    """An edit of the self-attention that changes nothing and remembers its place."""

    def __init__(self) -> None:
        self.first_query: int | None = 0

    def before(self, call: AttentionCall, place: Place) -> AttentionCall:
        self.first_query = place.first_query
        return call


class EditOfCross(Edit):
    """An edit of the cross-attention that is told the place."""

    def __init__(self, edit: Edit, decoder: DecoderPlace):
        self._edit, self._decoder = edit, decoder
        self.needs_weights = edit.needs_weights

    def before(self, call: AttentionCall, place: Place) -> AttentionCall:
        return self._edit.before(call, self._placed(place))

    def after(self, seen: Attended) -> Attended:
        place = seen.place
        after = self._edit.after(seen._replace(place=self._placed(place)))
        return after._replace(place=place)

    def _placed(self, place: Place) -> Place:
        return place._replace(first_query=self._decoder.first_query)
