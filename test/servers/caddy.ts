import type { ProxyProgram } from './http-proxy.js'

export const CADDY: ProxyProgram = {
  name: 'caddy',
  debianPackage: 'caddy',
  // As JSON, because a Caddyfile of version 2.6 can't keep it from writing to the home folder.
  settings({ folder, port, target, maxBytes }) {
    const limit = maxBytes === null ? [] : [{ handler: 'request_body', max_size: maxBytes }]
    const handle = [...limit, { handler: 'reverse_proxy', upstreams: [{ dial: target }] }]
    const front = { listen: [`127.0.0.1:${port}`], automatic_https: { disable: true }, routes: [{ handle }] }
    const settings = {
      admin: { disabled: true, config: { persist: false } },
      storage: { module: 'file_system', root: `${folder}/storage` },
      apps: { http: { servers: { front } } },
    }
    return [JSON.stringify(settings)]
  },
  args: (file) => ['run', '--config', file],
}
