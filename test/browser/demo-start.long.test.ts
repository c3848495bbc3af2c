import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { privateFolder } from '../servers/private-server.js'
import { demoFolder } from './demo-folders.js'
import { startDemo } from './demo-server.js'
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

it('npm start prints the URL first, and refuses a port or a folder that is in use', async () => {
  // Without a database, which the demo then creates.
  const folder = await privateFolder('demo', null)
  onTestFinished(() => folder.remove('SIGKILL'))
  const dataFolder = `${folder.path}/data`
  const npm = await npmStart({ dataFolder })
  const { port } = new URL(npm.url)
  try {
    expect(npm.linesBefore.length).toBeLessThanOrEqual(10)
    expect((await fetch(npm.url)).status).toBe(200)
    await expect(startDemo({ dataFolder, port })).rejects.toThrow(`can't start: PORT ${port} is in use`)
    await expect(startDemo({ dataFolder })).rejects.toThrow(/can't start: Process \d+ uses .*DATA_DIR/)
  } finally {
    await npm.stop()
  }
})
