import type { ServerKind } from './found-server.js'
import { installedProgram } from './installed-program.js'

/**
 * WebKitGTK, found like the test servers, with the path of its driver as its URL. The driver opens windows, which need a display:
 * `Xvfb` has one in memory.
 */
export const WEBKIT: ServerKind = {
  name: 'webkit',
  variable: 'WEBKIT_DRIVER_PATH',
  howToGet: 'install WebKitGTK with its driver, and Xvfb (Debian: apt-get install webkit2gtk-driver xvfb)',
  ways: [
    async () => {
      const path = installedProgram('WebKitWebDriver')
      if (path === null) return null
      if (installedProgram('Xvfb') === null) throw new Error('there is no Xvfb')
      return { url: path, from: path, stop: async () => {} }
    },
  ],
}
