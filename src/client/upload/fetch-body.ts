/**
 * Returns the bytes of a file as a body that every `fetch` understands. The files of simulated DOMs, such as jsdom's, are
 * foreign to the runtime's `fetch`, which would send "[object File]". Without a `FileReader` there is no DOM, and the file is
 * the runtime's own.
 */
export function fetchBody(file: Blob): Blob | Promise<ArrayBuffer> {
  if (typeof FileReader === 'undefined') return file
  return new Promise((resolve, reject) => {
    // Not `arrayBuffer()`, which the blobs of older versions lack.
    const reader = new FileReader()
    reader.onload = () => resolve(reader.result as ArrayBuffer)
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- becomes the cause of the error
    reader.onerror = () => reject(reader.error)
    reader.readAsArrayBuffer(file)
  })
}
