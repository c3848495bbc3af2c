import { showActivity } from './activity.js'
import { showBoard } from './board.js'
import { takeFiles } from './drop-area.js'
import { byId } from './elements.js'
import { showFiles } from './file-list.js'
import { showNote } from './note.js'
import { announce } from './notices.js'
import { showPeople } from './people.js'
import { confirmed } from './question.js'
import { currentUser } from './requests.js'
import { files as countOf } from './units.js'
import { showUnfinishedUploads } from './unfinished-uploads.js'
import { showUploads } from './uploads.js'
import { showUsage } from './usage.js'
import { onReturn, tellOtherWindows } from './windows.js'

const activity = showActivity()
const note = showNote(refreshUsage)
const board = showBoard(refreshUsage)
const files = showFiles({ changed: filesChanged, otherUser })
const uploads = showUploads({
  makeRoom: () => files.flushDeletes(),
  uploaded(object) {
    files.add(object)
    tellOtherWindows('files')
  },
  changed: refreshUsage,
  otherUser,
})
const refreshUnfinished = showUnfinishedUploads({
  isListed: (upload) => uploads.has(upload),
  choose: () => byId<HTMLInputElement>('chosen').click(),
  settled() {
    void files.refresh()
    refreshUsage()
  },
})
takeFiles((chosen) => {
  uploads.start(chosen)
  void refreshUnfinished()
})

const refreshUser = showPeople({
  async beforeSwitch() {
    const count = uploads.countInProgress()
    const question = `Switching users cancels the upload of ${countOf(count)}. Switch anyway?`
    if (count > 0 && !(await confirmed(question, 'Switch'))) return false
    // Only the user who started these can end them at the server.
    await Promise.all([uploads.cancelAll(), files.flushDeletes()])
    return true
  },
  switched(name) {
    announce(`Showing ${name}’s files.`)
    activity.reset()
    note.reset()
    board.refresh()
    void files.reload()
    void refreshUnfinished()
    refreshUsage()
  },
})

function refreshUsage(): void {
  activity.refresh()
  void showUsage(() => files.deletedUsage())
}

function filesChanged(): void {
  refreshUsage()
  tellOtherWindows('files')
}

/** Another window has switched users, so this one shows that user too. */
function otherUser(): void {
  void refreshUser()
}

onReturn((isBack) => {
  const before = currentUser()
  void refreshUser().then(() => {
    // Everything was loaded anew.
    if (currentUser() === null || currentUser() !== before) return
    void files.refresh()
    board.refresh()
    refreshUsage()
    if (isBack) {
      uploads.retryLost()
      void refreshUnfinished()
    }
  })
})
void refreshUser()
