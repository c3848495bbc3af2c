/**
 * Returns a file as a body that `fetch` understands. The files of simulated DOMs, such as jsdom's, are foreign to the runtime's
 * `fetch`, which would send "[object File]". Real browsers send the file itself, without reading it into memory.
 */
export function fetchBody(file: Blob): Blob | Promise<ArrayBuffer> {
  if (isUnderstood(file)) return file
  return new Promise((resolve, reject) => {
    // Not `arrayBuffer()`, which the blobs of older versions lack.
    const reader = new FileReader()
    reader.onload = () => resolve(reader.result as ArrayBuffer)
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- becomes the cause of the error
    reader.onerror = () => reject(reader.error)
    reader.readAsArrayBuffer(file)
  })
}

const TYPE = 'a/b'

/**
 * Whether `fetch` understands the file: only then does a response take over its content type. Without a `FileReader` there is
 * no DOM, but a server such as Hono's for Node.js may have replaced `Response`.
 */
function isUnderstood(file: Blob): boolean {
  return (
    typeof Response === 'undefined' ||
    typeof FileReader === 'undefined' ||
    new Response(file.slice(0, 0, TYPE)).headers.get('content-type') === TYPE
  )
}
