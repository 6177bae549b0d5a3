"""Python types as JSON Schemas, with the converters from JSON texts to instances."""

from detent.sources.json_schema.python_types.annotations import is_model, schema_of

__all__ = ["is_model", "schema_of"]
