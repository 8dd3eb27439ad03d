"""The store: a Protocol, SQLAlchemy behind it in production, and a memory double for tests."""

from .memory import MemoryStore
from .protocol import RunWrite, Store
from .sql import SqlStore

__all__ = ["MemoryStore", "RunWrite", "SqlStore", "Store"]
