import { sveltekit } from '@sveltejs/kit/vite'

const { HOST: host, PORT: port } = process.env
export default { plugins: [sveltekit()], server: { host, port: Number(port), strictPort: true } }
