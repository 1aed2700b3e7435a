//! The attributes of idem; users reach them through `idem-runtime`.
