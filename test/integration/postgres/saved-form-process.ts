import { LIBRARIES, type SavedForm } from './saved-form.js'

/** Saves a form, and dies after one of its steps. */
interface Task extends SavedForm {
  readonly library: string
  readonly diesAfter: string
}

const task = JSON.parse(process.argv[2]!) as Task
void LIBRARIES[task.library]!(task, (step) => {
  if (step === task.diesAfter) process.kill(process.pid, 'SIGKILL')
  return Promise.resolve()
})
