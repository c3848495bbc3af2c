import { createS3Client, dbClient } from '@svc/db/client'
import { takeFiles } from './drop-area.js'
import { showFiles } from './file-list.js'
import { announce } from './notices.js'
import { showPeople } from './people.js'
import { confirmed } from './question.js'
import { showUploads } from './uploads.js'
import { showUsage } from './usage.js'

const { api } = createS3Client({ plugins: [dbClient()] })

const refreshUsage = () => void showUsage(api)
const files = showFiles(api, refreshUsage)
const uploads = showUploads(api, (object) => files.add(object), refreshUsage)
takeFiles((chosen) => uploads.start(chosen))

const refreshUser = await showPeople({
  async beforeSwitch() {
    const count = uploads.countInProgress()
    const what = count === 1 ? 'the upload' : `${count} uploads`
    const question = `Switching users cancels ${what} in progress. Switch anyway?`
    if (count > 0 && !(await confirmed(question, 'Switch'))) return false
    // Only the user who started an upload can end it at the server.
    await uploads.cancelAll()
    return true
  },
  switched(name) {
    announce(`Showing ${name}’s files.`)
    void files.reload()
    refreshUsage()
  },
})

document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') void refreshUser()
})
