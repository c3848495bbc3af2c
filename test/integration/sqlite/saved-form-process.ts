import { LIBRARIES, type SavedForm, type Step } from './saved-form.js'

/** Saves a form, and kills itself after one of the steps. */
interface Task extends SavedForm {
  readonly library: string
  readonly diesAfter: Step
}

const task = JSON.parse(process.argv[2]!) as Task
void LIBRARIES[task.library]!(task, (step) => {
  if (step === task.diesAfter) process.kill(process.pid, 'SIGKILL')
})
