/**
 * Imported before onnxruntime-node: from 1.29 on its builds send events of sessions, models and the machine to its maker, and keep an id of the
 * machine under ~/.cache, unless this is set before the first session (onnxruntime pull request 27379). A value of the user's own stays.
 */
// eslint-disable-next-line no-restricted-syntax -- no setting of the service: the runtime itself reads it.
process.env['ORT_DISABLE_TELEMETRY'] ??= '1'
