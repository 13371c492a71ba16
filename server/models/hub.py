"""download_snapshot: a model of the Hugging Face hub, into the hub's own cache."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from server.models.errors import DownloadError

HUB_ID: Final = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+(@[\w./-]+)?")
"""`owner/name`, with `@revision` (branch, tag or commit) if a certain one is wanted."""

_ALLOWED_FILES: Final = ("*.safetensors", "*.json", "*.jinja")  # weights, configs, chat templates
_IGNORED_FILES: Final = ("*/*",)  # copies in other formats


def download_snapshot(hub_id: str) -> Path:
    """The local folder of a hub model; only safetensors, JSON and Jinja files are fetched.

    huggingface_hub shows its own progress bars, resumes broken downloads, and takes HF_HOME,
    HF_TOKEN and HF_HUB_OFFLINE from the environment.

    Raises:
        DownloadError: offline and not cached, unknown, or not allowed; the message says which.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    name, _, revision = hub_id.partition("@")
    try:
        folder = snapshot_download(
            name,
            revision=revision or None,
            allow_patterns=list(_ALLOWED_FILES),
            ignore_patterns=list(_IGNORED_FILES),
        )
    except GatedRepoError as error:
        raise DownloadError(
            hub_id, "access needs a licence accepted on the hub; then set HF_TOKEN"
        ) from error
    except RevisionNotFoundError as error:
        raise DownloadError(hub_id, f"the hub has no revision {revision!r} of it") from error
    except RepositoryNotFoundError as error:
        raise DownloadError(
            hub_id,
            "the hub has no such model, or it is private (set HF_TOKEN); there is no local folder "
            "of this name either",
        ) from error
    except (LocalEntryNotFoundError, OfflineModeIsEnabled) as error:
        raise DownloadError(
            hub_id,
            "the hub cannot be reached and the model is not in its cache; check the network and "
            "HF_HUB_OFFLINE, or give a local folder or .gguf file",
        ) from error
    except HfHubHTTPError as error:
        raise DownloadError(hub_id, str(error)) from error
    return Path(folder)
