import { LIBRARIES, type SavedForm } from './saved-form.js'

/** Saves a form, and kills itself or its backend after one of the steps. */
interface Task extends SavedForm {
  readonly library: string
  readonly victim: 'process' | 'backend'
  readonly diesAfter: string
}

const task = JSON.parse(process.argv[2]!) as Task
void LIBRARIES[task.library]!(task, (step, backend) => {
  if (step === task.diesAfter) process.kill(task.victim === 'process' ? process.pid : backend, 'SIGKILL')
  return Promise.resolve()
})
