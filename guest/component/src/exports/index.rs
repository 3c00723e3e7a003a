//! `interface index`: adds files to the search index.

use paddock_ops::index::update;
use paddock_types::request::Access;

use crate::exports::bindings::exports::paddock::files::{index, types};
use crate::exports::convert::Convert;
use crate::exports::{Component, NO_DIALECT, with_fs};

impl index::Guest for Component {
    fn update(start: Option<String>, time_ms: u64) -> std::result::Result<index::IndexUpdate, types::Error> {
        let updated = with_fs(NO_DIALECT, |fs, policy| {
            let workspace = paddock_ops::open(fs, policy, Access::Read)?;
            update::update(&workspace, start.as_deref(), time_ms)
        });
        let update::Update { added, unsettled, next } = updated.map_err(Convert::lower)?;
        Ok(index::IndexUpdate { added, unsettled, next })
    }
}
