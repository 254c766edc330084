import { errorOf, UnreachableError } from './api.js'
import { key } from './gate.js'

/** Sends a form with its progress, which fetch does not tell. @throws ServiceError, UnreachableError; AbortError once aborted */
export function sendForm(url, form, { signal, onProgress }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', url)
    if (key()) request.setRequestHeader('authorization', `Bearer ${key()}`)
    request.responseType = 'json'
    request.upload.addEventListener('progress', ({ loaded, total }) => onProgress(loaded, total))
    request.addEventListener('error', () => reject(new UnreachableError()))
    request.addEventListener('abort', () => reject(new DOMException('Cancelled.', 'AbortError')))
    request.addEventListener('load', () => {
      const { status, response } = request
      if (status < 400) resolve(response)
      else reject(errorOf(status, response, request.getResponseHeader('retry-after')))
    })
    signal.addEventListener('abort', () => request.abort())
    request.send(form)
  })
}
