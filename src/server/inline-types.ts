import type { Disposition } from '../core/object-storage.js'

/** Types that browsers show without running any code of the file. No comma: browsers read it as another type. */
const SHOWN =
  /^(?:(?:image|audio|video)\/[\w!#$%&'*+.^`|~-]+|application\/pdf|text\/plain)[\t ]*(?:;[^,]*)?$/i

/** Such as `image/svg+xml`, which can contain scripts. */
const XML = /\+xml[\t ]*(?:;|$)/i

/** Returns `inline` only for types that a browser can show safely on the origin of the bytes. */
export function dispositionFor(wanted: Disposition, contentType: string | null): Disposition {
  const isShown = contentType !== null && SHOWN.test(contentType) && !XML.test(contentType)
  return isShown ? wanted : 'attachment'
}
