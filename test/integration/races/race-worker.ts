import { openDatabase } from './database.js'
import { runProgram } from './programs.js'
import { emptyReport, type RaceReport, type RaceTask } from './race.js'
import { serveAsWorker } from './worker.js'

serveAsWorker<RaceTask, RaceReport>(emptyReport(), async (task, report, { finish }) => {
  const { open, close } = openDatabase(task.connection, task.callers)
  await runProgram(open, report, { ...task, isOver: () => finish.aborted })
  await close()
})
