import node from '@astrojs/node'

export default { adapter: node({ mode: 'standalone' }) }
