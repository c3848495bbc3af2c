import type { ServerKind } from './found-server.js'
import { installedProgram } from './installed-program.js'

/** The headless shell is the same engine without the windows of a browser. It takes a third of the processor time. */
const PROGRAMS = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  'Chromium',
  'Google Chrome',
]

/** Where Debian, Ubuntu and macOS install it. Not always on PATH. */
const FOLDERS = [
  '/usr/bin',
  '/snap/bin',
  '/Applications/Chromium.app/Contents/MacOS',
  '/Applications/Google Chrome.app/Contents/MacOS',
]

/** Found like the test servers, with the path of the program as its URL. */
export const CHROMIUM: ServerKind = {
  name: 'chromium',
  variable: 'CHROMIUM_PATH',
  howToGet: 'install Chromium (Debian: apt-get install chromium-headless-shell)',
  ways: [
    async () => {
      const path = chromiumProgram()
      return path === null ? null : { url: path, from: path, stop: async () => {} }
    },
  ],
}

/** Returns the path of the installed program, or `null`. */
export function chromiumProgram(): string | null {
  return PROGRAMS.map((name) => installedProgram(name, FOLDERS)).find((path) => path !== null) ?? null
}
