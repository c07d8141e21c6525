"""Bytes by key, with create-if-absent and replace-if-version. The contract is `stores.store.Store`."""
