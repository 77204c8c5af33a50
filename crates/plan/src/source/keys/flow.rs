//! What leads from step to step, and what happens when one fails: shapes of keys that steps and groups share.

use super::super::section::FromNode;
use super::super::shape::Shape;
use super::super::shape::Shape::{Choice, Duration, List, OneOf, Text};
use super::super::words::JOINS;
use super::super::workflow::{ErrorRoute, Need, Quorum, Route};

/// `routes`.
pub const ROUTES: Shape = List(&Route::SHAPE);
/// `needs`.
pub const NEEDS: Shape = List(&OneOf(&[Text, Need::SHAPE]));
/// `join`.
pub const JOIN: Shape = OneOf(&[Choice(JOINS), Quorum::SHAPE]);
/// `on_error`.
pub const ON_ERROR: Shape = List(&ErrorRoute::SHAPE);
/// `timeout` of any step or group.
pub const TIMEOUT: Shape = Duration;
