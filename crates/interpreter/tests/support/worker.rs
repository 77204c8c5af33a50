//! A worker for the tests, which also tries what workers must not do.

fn main() -> std::process::ExitCode {
    convoke_interpreter::worker::serve()
}
