//! WASI programs as commands: `tests/programs/tool`, which is built here as a component and as a module of preview 1,
//! and a published program of another project.

mod build;
mod confined;
mod foreign;
mod history;
mod limits;
mod run;
