"""EndPoints: where every token leads from one configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grammars.masks.kernels.ends import NUM_COLUMNS

if TYPE_CHECKING:
    from numpy.typing import NDArray


class EndPoints(NamedTuple):
    """The points that tokens lead to, see `kernels.ends`.

    Attributes:
        end_of_token: int32, (padded_size,); a row of `points`, 0 where the token is not allowed.
        points: int64, (num_points, NUM_COLUMNS); row 0 is unused.
        pushes: int64; states of the frames that the points have pushed.
        doors: nodes of the trie behind which no token has been read, see `kernels.ends`.
    """

    end_of_token: NDArray[np.int32]
    points: NDArray[np.int64]
    pushes: NDArray[np.int64]
    doors: tuple[int, ...] = ()

    @classmethod
    def empty(cls, padded_size: int, capacity: int) -> EndPoints:
        """Room for so many points, and for a few pushes of each."""
        return cls(
            np.zeros(padded_size, np.int32),
            np.zeros((capacity, NUM_COLUMNS), np.int64),
            np.zeros(4 * capacity, np.int64),
        )

    def cut(self, num_points: int) -> EndPoints:
        """The used part."""
        return self._replace(points=self.points[:num_points])
