import type { ApiRequest } from './api-request.js'

/** A part of the client: `id` is the name under which its API stands at `api[id]`. */
export interface ClientPlugin<Id extends string = string, Api extends object = object> {
  readonly id: Id
  readonly createApi: (request: ApiRequest) => Api
}

/** What a list of plugins adds to `api`. */
export type PluginApis<Plugins extends readonly ClientPlugin[]> = {
  readonly [Plugin in Plugins[number] as Plugin['id']]: ReturnType<Plugin['createApi']>
}
