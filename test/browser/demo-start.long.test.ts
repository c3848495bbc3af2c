import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { demoFolder } from './demo-folders.js'
import { npmStart } from './npm-start.js'

it('npm start takes the next free port from 3000 on, and opens a folder that a killed process has left', async () => {
  const folder = await demoFolder()
  onTestFinished(() => folder.remove('SIGKILL'))
  const dataFolder = folder.path
  const taken = createServer().listen(3000, '127.0.0.1')
  // Something else may have it.
  taken.on('error', () => undefined)
  onTestFinished(() => void taken.close())
  const killed = spawnSync(process.execPath, ['-e', ''])
  await writeFile(`${dataFolder}/process.pid`, String(killed.pid))
  const npm = await npmStart({ dataFolder, port: '' })
  expect(Number(new URL(npm.url).port)).toBeGreaterThan(3000)
  await npm.stop()
})
