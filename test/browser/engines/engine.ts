import type { NetworkNamespace } from '../../servers/network-namespace.js'

/** A browser that tests drive. */
export interface Engine {
  /** The network that it runs in. Missing: the machine's. */
  readonly network?: NetworkNamespace
  /** Opens a new profile: without cookies, storage and service workers. */
  readonly openProfile: () => Promise<Profile>
  readonly stop: () => Promise<void>
}

export type EngineName = 'Chromium' | 'Firefox' | 'WebKit'

/** The tabs that share cookies and storage. */
export interface Profile {
  /** Opens a tab. Resolves once the page has loaded. */
  readonly openTab: (url: string) => Promise<Tab>
  readonly close: () => Promise<void>
}

export interface Tab {
  /** Resolves once the page has loaded. */
  readonly goto: (url: string) => Promise<void>
  /** Resolves once the page has loaded again. */
  readonly reload: () => Promise<void>
  /** Has the page call a function, which may leave the page. Resolves before that. */
  readonly begin: (call: () => void) => Promise<void>
  /**
   * Calls a function in the page, with an argument and a result of JSON. Rejects if the page is left before the result is there.
   * The function can use nothing from around it.
   */
  readonly evaluate: <Result, Argument = undefined>(
    call: (argument: Argument) => Result | Promise<Result>,
    argument?: Argument,
  ) => Promise<Result>
  /** Chooses files on disk in the `<input type="file">` that the selector finds. */
  readonly choose: (selector: string, paths: readonly string[]) => Promise<void>
  /**
   * Has the page call a function that starts a download. Resolves to the name of the file that the browser saves. Missing where the driver
   * saves none.
   */
  readonly download?: (call: () => void) => Promise<string>
  readonly close: () => Promise<void>
}
