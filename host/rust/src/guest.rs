//! Exports of an instance. An interface is looked up when it is called, because checking the types of all functions
//! takes longer than most calls.

use std::sync::Arc;

use wasmtime::component::{Instance, InstancePre};
use wasmtime::{Result, Store};

use crate::bindings::exports::paddock::files::{approval, commands, files, index, partitions, search, session, tools};
use crate::store::State;

/// Indices of the interfaces in the component.
pub(crate) struct Exports {
    approval: approval::GuestIndices,
    commands: commands::GuestIndices,
    files: files::GuestIndices,
    index: index::GuestIndices,
    search: search::GuestIndices,
    session: session::GuestIndices,
    partitions: partitions::GuestIndices,
    tools: tools::GuestIndices,
}

/// An instance of the component.
pub(crate) struct Guest {
    instance: Instance,
    exports: Arc<Exports>,
}

impl Exports {
    pub(crate) fn of(component: &InstancePre<State>) -> Result<Self> {
        Ok(Self {
            approval: approval::GuestIndices::new(component)?,
            commands: commands::GuestIndices::new(component)?,
            files: files::GuestIndices::new(component)?,
            index: index::GuestIndices::new(component)?,
            search: search::GuestIndices::new(component)?,
            session: session::GuestIndices::new(component)?,
            partitions: partitions::GuestIndices::new(component)?,
            tools: tools::GuestIndices::new(component)?,
        })
    }
}

macro_rules! interfaces {
    ($($name:ident),*) => {
        $(pub(crate) fn $name(&self, store: &mut Store<State>) -> Result<$name::Guest> {
            self.exports.$name.load(store, &self.instance)
        })*
    };
}

impl Guest {
    pub(crate) fn new(instance: Instance, exports: Arc<Exports>) -> Self {
        Self { instance, exports }
    }

    interfaces!(approval, commands, files, index, search, session, partitions, tools);
}
