import { createS3Client, dbClient } from '@svc/db/client'
import { takeFiles } from './drop-area.js'
import { showFiles } from './file-list.js'
import { announce } from './notices.js'
import { showPeople } from './people.js'
import { confirmed } from './question.js'
import { showUploads } from './uploads.js'
import { showUsage } from './usage.js'

const { api } = createS3Client({ plugins: [dbClient()] })

const refreshUsage = () => void showUsage()
const files = showFiles(api, refreshUsage)
const uploads = showUploads(api, (object) => files.add(object), refreshUsage)
takeFiles((chosen) => uploads.start(chosen))

const checkWhoIsSignedIn = await showPeople({
  async leave() {
    const count = uploads.underWay()
    const question = `Switching cancels ${count === 1 ? 'the upload' : `the ${count} uploads`} under way. Switch?`
    if (count > 0 && !(await confirmed(question, 'Switch'))) return false
    // An attempt belongs to who began it: nobody else can end it.
    await uploads.cancelAll()
    return true
  },
  arrive(name) {
    announce(`These are the files of ${name}.`)
    void files.reload()
    refreshUsage()
  },
})

document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') void checkWhoIsSignedIn()
})
