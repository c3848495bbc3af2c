import type { ServerKind } from './found-server.js'
import { installedProgram } from './installed-program.js'

const PROGRAMS = ['firefox-esr', 'firefox']

/** Where macOS installs it. Not on PATH. */
const FOLDERS = ['/Applications/Firefox.app/Contents/MacOS']

/** Found like the test servers, with the path of the program as its URL. */
export const FIREFOX: ServerKind = {
  name: 'firefox',
  variable: 'FIREFOX_PATH',
  howToGet: 'install Firefox (Debian: apt-get install firefox-esr)',
  ways: [
    async () => {
      const path = PROGRAMS.map((name) => installedProgram(name, FOLDERS)).find((found) => found !== null)
      return path ? { url: path, from: path, stop: async () => {} } : null
    },
  ],
}
