//! How flattened values appear in the JSON schema: by reference to their named schema, not copied into the outer one.
//!
//! Used only in `schemars(with = …)` on fields that serde flattens; the types themselves derive their schema.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// Takes the place of `T` in the schema of a type that flattens it.
pub(crate) struct Referenced<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for Referenced<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "allOf": [generator.subschema_for::<T>()] })
    }
}
