// The page begins: the token leaves the address, the stores start to follow the server, and the parts are drawn.

import { flushSync, mount } from 'svelte';
import { recorded } from './api/recorded';
import { takeTokenFromAddress } from './api/session';
import App from './App.svelte';
import { router } from './route/router.svelte';
import { listen } from './shell/keys';
import { capacity } from './store/capacity.svelte';
import { clock } from './store/clock.svelte';
import { inbox } from './store/inbox.svelte';
import { link } from './store/link.svelte';
import { runs } from './store/runs.svelte';
import { theme } from './store/theme.svelte';
import './style/tokens.css';
import './style/base.css';

if (!recorded) takeTokenFromAddress();
theme.start();
clock.start();
router.start();
listen();
inbox.start();
if (!recorded) {
  runs.start();
  capacity.start();
}
mount(App, { target: document.getElementById('page')! });
// What the first page follows is known before the stream asks for it.
flushSync();
link.start();
