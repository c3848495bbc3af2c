import { describe } from 'vitest'
import { checkedFiles } from './checked-file.js'
import { findChromium, useBrowser } from './chromium.js'
import { multipartUploads } from './multipart-upload.js'
import { servedTypes } from './served-types.js'
import { xhrUploads } from './xhr-upload.js'

const executablePath = await findChromium()

// One file, because launching a browser costs more than most of the tests.
describe.skipIf(executablePath === null)('a browser', () => {
  const browser = useBrowser(executablePath)
  xhrUploads(browser)
  multipartUploads(browser)
  checkedFiles(browser)
  servedTypes(browser)
})
