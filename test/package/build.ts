import { buildIfOutdated } from './packed-package.js'

/** Builds the package once, before the tests start: parallel builds would write the same files. */
export default buildIfOutdated
