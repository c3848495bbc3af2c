import { unanswered } from '../client-error.js'
import type { PutBytes } from './put-bytes.js'

export const putWithXhr: PutBytes = ({ url, method, headers }, { file, progress, signal }) =>
  new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest()
    const stop = () => xhr.abort()
    xhr.upload.onprogress = ({ loaded }) => {
      try {
        progress(loaded)
      } catch (error) {
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the application's own, passed on as it is
        reject(error)
        stop()
      }
    }
    xhr.onload = () => resolve(xhr.status)
    xhr.onerror = xhr.onabort = () => reject(unanswered(signal))
    xhr.onloadend = () => signal?.removeEventListener('abort', stop)
    xhr.open(method, url)
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value)
    signal?.addEventListener('abort', stop)
    xhr.send(file)
  })
