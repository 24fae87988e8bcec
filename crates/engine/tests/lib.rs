//! The tests of the whole engine, through its public interface. They are modules of the library's unit tests: as programs
//! of their own they would need the engine compiled once more.

mod conformance;
mod engine;
