import { describe } from 'vitest'
import { findChromium, useBrowser } from './chromium.js'
import { keptUploads } from './kept-upload.js'
import { pagesOfPictures } from './page-of-pictures.js'
import { queuesOfFiles } from './queue-of-files.js'

const executablePath = await findChromium()

// One file, because launching a browser costs more than most of the tests.
describe.skipIf(executablePath === null)('a browser', () => {
  const browser = useBrowser(executablePath)
  keptUploads(browser)
  queuesOfFiles(browser)
  pagesOfPictures(browser)
})
