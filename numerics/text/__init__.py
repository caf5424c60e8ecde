"""Text for a model to read: chunks of token ids from files, the shipped sample, or a Hugging Face dataset."""

from numerics.text.chunking import Chunks, chunks, clipped_documents
from numerics.text.documents import text_sha256
from numerics.text.parts import split

__all__ = ["Chunks", "chunks", "clipped_documents", "split", "text_sha256"]
