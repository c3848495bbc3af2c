import {
  emptyCrashReport,
  proveThatCallsSucceed,
  runCrashLoad,
  type CrashReport,
  type CrashTask,
} from './crash-load.js'
import { openDatabase } from './database.js'
import { serveAsWorker } from './worker.js'

serveAsWorker<CrashTask, CrashReport>(emptyCrashReport(), async (task, report, { finish }) => {
  const { callers, connection, worker } = task
  const { open, close } = openDatabase(connection, callers)
  const store = open()
  const load = { callers, prefix: `caller ${worker}` }
  await runCrashLoad(store, report, { ...load, isOver: () => finish.aborted })
  await proveThatCallsSucceed(store, report, load)
  await close()
})
