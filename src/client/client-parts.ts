import type { UploadContext } from './upload/upload-request.js'

/** A registered symbol, because an application may have a copy of this module for each entry of the package. */
const PARTS = Symbol.for('@svc/db/client-parts')

/** Attaches what a client's uploads use. Enumerable, so that `{ ...api, upload }` of an application has it too. */
export function attachContext(api: object, context: UploadContext): void {
  Object.assign(api, { [PARTS]: context })
}

/** Returns what the uploads of a client use, or `undefined` for an `api` that `createS3Client` did not create. */
export function contextOf(api: object): UploadContext | undefined {
  return (api as { readonly [PARTS]?: UploadContext })[PARTS]
}
