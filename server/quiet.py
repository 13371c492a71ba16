"""quiet_transformers: the terminal is ours; what a library would print, we print in order."""

from __future__ import annotations


def quiet_transformers() -> None:
    """Switch off transformers' bars and warnings; its errors are raised or shown all the same.

    The hub's download bars go with them, so a model must be on disk by then.
    """
    from transformers.utils import logging  # takes a second, in which others can work

    # transformers declares no types for these two
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # see above
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # see above
