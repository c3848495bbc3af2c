import { buildIfOutdated } from './packed-package.js'

/** Builds the package once for all files of the project, because two of them at a time would write the same files. */
export default buildIfOutdated
