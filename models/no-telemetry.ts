/**
 * Import before onnxruntime-node: from 1.29 on its builds send events on sessions, models and the machine to its vendor, and store a
 * machine id under ~/.cache, unless this is set before the first session (onnxruntime pull request 27379). A value set by the user is kept.
 */
// oxlint-disable-next-line node/no-process-env -- no setting of the service: the runtime itself reads it.
process.env['ORT_DISABLE_TELEMETRY'] ??= '1'
