//! Lines of a program that is compiled for the purpose.
