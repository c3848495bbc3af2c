import { fileURLToPath } from 'node:url'
import { afterAll, describe } from 'vitest'
import { bundleWorker } from '../races/bundled-worker.js'
import { describeSavedForms } from './describe-saved-forms.js'
import { LIBRARIES } from './saved-form.js'

const program = await bundleWorker(fileURLToPath(new URL('./saved-form-process.ts', import.meta.url)))
afterAll(() => program.remove())

// docs/sqlite.md promises this.
describe.each(Object.keys(LIBRARIES))('forms that are saved with %s', (library) => {
  describeSavedForms((saved) => [process.execPath, program.file, JSON.stringify({ ...saved, library })])
})
