// Written by tools/unicode_tables.py from the package tokenizers 0.23.3.
// clang-format off
#include "unicode/character_class.h"
#include "unicode/character_traits.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

constinit const CodeTable kKinds(
R"(X7@<s$(64o#(q#/(m#(n#$(q##(o#)^L)1)|&E(#$(#(r#(s$#|&H'($'#F)(*w&(*(&:?(A$(
A$(K(r#(C(F&'#%.=%(,.%$%(%(s#0&j&0($Gp&$$M$##################################
####################)###############)########################################
######)####/)###)#/)5#)#//)#)#####)##)##)#/###))(#$06$(L%$$$$$$$#############
#)#################)#$$$#/###################################################
#######G)#))##5########q2%}&x$M:&eq#;G###m$p>k''&##&&%%.M&0(&&8-$%/%##)&m$$Sl
)#)//#######################;##(&$$))s-w,##################################()
@%.m'&&####################################################)############)####
#############################################################################
###############(#~))(&F%|*#(7,.%(.$j,&&#')#)##Ol')55+`F-4)+($).%d$$'(J*t(%((Y
s%^88+%u:$#H(#($B.#)$5,^#/+#v##('($%(#y'}&+|7`#r#^#v(U.$($4$$.#(P.'z%$:$'S#/#
;-|###t&1*%#a;k&(-A$.';X%{*($Zv#$'o((m's.$$#$0N5#)$HY).%^(#($z#&-(%O)))u%#G##
/5)%$16+*))$%O%5*#/+*^#+.'F0()$%(*().$.%(&$E5))u%#G#)#)#))%#1*6))//#G7##G^&+1
#(#\*'$V#/#u%#G#)#;)%$1<%)$$)$*%w#)**](((%I'F%$(#.$$P)))u%#G#)#;)%$%$#5+*))$H
&$%7,#/+*^$(&&F'\'%$A//#5/)###)/)///e5.#%)0/#/$*%A%q#^#3F#(%#>($4#(%R%&/#{%#}
#)$$28&0#5G)#1)#))**^%G('L&(%(#(#.$'O(#/#{%#Y#;)&$&$;%$*$)*H*A+#)+*^$#+(Rf(&'
.#W&/#y*,#18&0#/$%(%80&L&0-,^%V(#E&($.$$u$/k&#S##)G/($510$##NA^$)*((f{,')G6((
C()P'^$)|)#-###;#k&###Y&)A(%)$+;#(##C&$^#)9o(#4&|#$##/.#A]^'$%####(9(9##.)R%(
&q)5u#%;(&)>_&q)#R$$A$)>5)x)r+-9#A#)))$^&EB,,6/#0)G/6k##*)A#$$\/%.#l*1($#;#)t
+1(%(*0ty#&&5)G###5)y*#5)u(#5)G###5)w##k/#5){1)4$Wn%)1j$^%Bn7%)F$)(1{p'(w#(%n
$(7w&(,(,4$k434UNIs$4*(0U{$+(-.#Vv$,fl##/#*ez-*&GM#)_2(-/(0'&.#^/A^/AF#(,53(2
(1^$F#p)%('i.H;.#{(##<w2Yi(#0:()/6)$A/6(1/.&^$~'#+;_u+5w&AZ((0i)~%.#.$#,.$l.&
&#G&#$#)MAY*#^$BYAK(%A*t#(5l$'i-7($v,%$$;##;#)N%.3^&L%^'X$S2*($~'$#6))#/*^#u+
$%)/##/)R$:$t)OP))2>]03Zy'F',X2(3#@#p+)/ON4$$k#(%G:$#5.m'$*(/*$@#z+%~0&k##{(w
)r.@*;('&####################################################################
#############################################################################
##S##########################################################################
#######################SMA-B)NNMMA*B)N#$######NMq#*MR7MMMM;$)7%(6%//&)8&27,)8
$1O=0+1#)7&,&d5(0.g)F2.-(:(:(8*$$$O(R(S@$(&V'($6.A/(=(&(<a%#&Y($@%(*Y(:(2+B4$
(&(&'\2&&'o#/z(;w#p#2:;#/ex#.;(35#)(40)/#$$)('<B######5#%6#:6#+)+>#6%%)$#l$)p
)<'&6%,:$@#<)5#)#)#G#i())###i(whM(*(*##j%+G%%x5%y'q&s*Am3x%_o%k0x&~-cv%tQ&S#o
.M{=#mc(#(#############|'w+>&&j($$########~#seoC%%####################z0$$##p
($$~ey,o%)Am*.#o(#m<|,&|,&##/)######5##)#A.+0$###############################
##################################################################)C$$##4)$$?
:.(')i*%#;#)j/*G(%&r#($~%TG#G#G#G#G#G#G#G#p(+(1(1##0$$$$$T(4)##%%*$$(+(+#####
#>(&Y.#5##&p#=.+/(Q(R######(Rj)*{&#{7e}Yw&}#(54%$('(,(2(((*########-$$######(
*$*%V:-.?(#@%-3$(%(&,((k7).%.;.#&(%k8($1$@#o+#m9#.$:1Yq(})U#~#i($[z'M#w#o(Ym*
w#{v#sqq#i1qlt+&o{-2w.St*C-xh$0~#^@)l%(3(3###################################
#########%((46($Z#(%(#(###########################*,|2#^**F#R%j&*X#)(%(%#####
######/##############################################################%M$###)#
########$+%%##(%$$#/####################;#;###############5###)#-$$$###$#####
#p%3$%&+$H($/#5#{%.+*#:)(>4%F++(8#C~-$:)N.$o-}#.%O,^,Bu$E2##)(&]n'P,|%`.#d#&v
'02&s,$*5))/n#&((^#6+@#(#'T];'y*D.#)))U1$M#%+\):#k$(#A4%#(#($#n-$#/));)###p&#
)'.#`'-)+%,%&]D)A)ASG#G#t+((*:#T#*7s5n).#(#)#)($#$-^&Awl~%e{%5},5pj9Unio#Vsm$
+s<})L%e;;$(#Y(9k#%;###)#)#i=r$'~#vl$(1(2l$+k1,o.G$o(f(-1l$%L+(#($$F$j$$.2.<(
#(###############,$$61/(#5'''####1((&/'%(&)6@'#qD)(<#1&/(%(%$($#(%)^-)1)|&2(#
$(#(+()#|&,'($'#$$(#$$*^*(0{+)i(4*A)A)A)//.*($(&(-+&$8)Z4,**j###w&#y$#)#w#)q#
{(kA;4%5j,2/Vn.37n$)/%k#/#q,{+(/jCx'#/},w#$j'6q(6Tj%'M#<~)><z'#(#r)6M$>k+x*-x
*,i5+^.At)5t)5v*My-_(#b$w##G#)#b#w##G#)/|-eqt#Su%YMk&F+#i+#Sq2B)##u+#)/#){%#'
R&}%.'Hj(PTw,z$#);<v%A0&y&<$i1|.5+*}#*k,$4'%);56$/#s')05#UHVGv'+%t'0q(N'm'-7>
KTr./Hv%*Oz$<Nt$H7eIq5u3u.x-%k#x-%GDt):3O^'AY7('#z%$2?(6'z%%P.+oXn(&#n+%#.$($
*+}#/u.7t'\#Ou%a7@9x%v$87i*q%Jj%|%S(5(*#k.x#L*8m%^*(%.#)#V4#($}+/6)).$(-5(#^#
%)v&#G^$A4#s);($M%\:$'.A#Pk)',$U+(#y,/T)68(r$2$(#(&^%(#&#/(%n%'_u$#q&4&4%)##)
E#+($w0H###5#w##Y&Br,&3M=^$A*+$P)))u%#G#)#;#(#&%,$5,))/)%A$;<**I/;_[##)##})##
4%E%$)##5#)$##%##.(&)M+s'k.4#R#)/##6?^$)'#(#2{'w,4#F###5)#)*(%#P^${Lr,39+6*#)
i&8*~(x,2O)##)2%b]Ap#$y$q+'(##)A##$&D]Ai%m'i')&'#)5#;6\.&4$(.L$mRu+4'X'#)('~:
t(.t(-^'X'hR%)#)M#)#k&F%$)).%$#%$##$4%V^#w2Q)m*39+)6#%'#%j'$\s*A%$6P#P%B,/l,k
#$)2%;n#t3GZmQv($r#]AU#w)()L)%A$#%?\]~$%0+|'*y%#(#H#)#)t3I#)#})F$0##)#G$#N^$A
C#)#o(@%$,#*$##%I\o.^Xwb{$,-.%J+&&k#%{(*=1*$##n#^#$|6'w#t%&R):1m$m#($mk+r;j>1
#@,_kUsp@i:,l#~},l$.(&Bw#[lmQ;u|&ost#y'f4(/^(vl5|x&Gi(#Z5.$m5$[Az')@*&Zy,I=:'
:1$$]^##L*#t%$;y$qi%4#t*)4(]xUt(.t(.j&$9n;n4$5(($p,.X*J:*p#(j1)($#($a-)4.Snyk
#%Mmi/y*Yqrx$9#G#)#~n#w##s'/)#q#5Muu$io<y<;k#/SGY)(*.%(+:,jrPla^,Btj%o4p,'){%
Sn?}/wbYm*)}/.)4$0BR#O+Gy'5m0r%u10#|@n%*ei%ep7Sr&qD|&,|&,w&G$s$x&w&#$))#)))5#
M6$##G#_x&w&)$5)M#G#x&*$5#;##/G#x&x&w&w&w&w&w&w&w&w&w&w&m'*r&(1s&#Ar&$r&#Ar&$
r&#Ar&$r&#Ar&$r&#A$#+r-'ri&#z.$5m-M#q##)@(z#=#w#wp-]()i%BAwYI#m$)G#)#;;x0*u((
*k>i,/HI*^%5&(%|v#z''n$v+6\=(/kr%j'(#9]jZ|'+#[7(.sv%I#5#)#w##oU)X*L&z*j))j)(I
(&8^%5.%wq)|/$((/((5q4{+%w#tT:'#}&#)##)##Y#5####A#5######/#)##)##########)##)
5#G#5#5###Y#m$;/#;#m$y-.*mi#x+5{:ew#)w##w##w)Yn#l)|&?Aw&Aw&q)}.s'k#u+5SG)q#Au
Iid@3kx(6m$/k#/i@5s9Ae5#w#e5{.MYAs*My')e5)s0o|#eq#)k#/Y;{.Gw#)_ASGwG#w8^&tr,x
ny7$o(slSAk\)ikgq#wo|#w#mq'kn>qq&op2u|\;{vSmly|1(-y'y9sBna)y}oDxjvD8)sjvD))");
constinit const CodeTable kScripts(
R"(p($o(y&Aw&q,#w##;{%#i(#in%m*;;,i%o>:#$/-5$#6#$##/$##i%#y0v#$}#jD%-wM&l*&)G
#m*#(#$*/#z.'M}&;;_@(&A#q#)$$$o(#Yd#w&#i=${(v#)&}/)/x,r-*s#|/+;p,,)w##r'-)#o1
s%#Mu%q#($s'|5..&m$+w&:/'M)))u%#G##/5)S)))5M#5)#;)u%;40#A5))u%#G#)#)#))##;5))
//#G5##G}#_41#S#/#u%#G#)#;)Y#/#/)#w#5)eG#G42#M)))u%#G#)#;)S)))/M)5)#;)s$Y.3#A
//#5/)###)/)///e5;//#5)#A#q#o%;:4#M#/#{%#}#/M#/#5G)#/;5)YMM:5$M#/#{%#Y#;)S#/#
5G)G##5)Y#)q#46#M#/#y*)M#/#A5}#)w&).7#s$/k&#S##)G/#5A###MAY)/ev/85()n'x).9##)
)##)#A5#G#/####))#k##/);###A)Y)5o(r3:#q)5m*#q)#w##G8)x)rK;l*<$#;#)o+&5ve=x3>&
5)G###5)y*#5)u(#5)G###5)w##k/#5){1)o(/w&An7?)A)pv'@x'A0n4B4%_Hp#C#G_t%D,Tn%Ee
p#F#/#)er9G)YAYA.H-##S$YAu7Mo+;|2'Yn(I#e5e5#/e~'J*;_z+K5w&A_/)t($r'L+)~0M$s')
_AYAq#)|#?o1t4N5{+/n1O~-PN5j/Q0w#//|,RXMw.QM4$(-k##G5#A#)$*Al*Q@O(#~,<5;k#$w2
$r.>;sew%+A)}))A)M#######i()i.#w##q#)A#y$)/#S#i#,o7$_&*`$w#$l#/j(m$w(w#~)&/,A
#}&#m$y*/7sq'#m*q&_o%wl+veS{r'*o(){(/e#Mw&5}#v,T#q,#r(r?R<Gl*<$#;#)j/UG)q##j&
<TG#G#G#G#G#G#G#G#t((v2%x/|&V#{7e}Yw&f5;$##q&S:).>O75&j7),+1#k8#5=~*U/q9#j$i'
<r)ej$l($k1j(w5s,%u7rMwnq#Zj1nqs+j+tk.W/u.S|,Xvq#Yj%~9&z7ZNj)$v;,/q)$My0Sz+[6
[Aj/\M|2]MeA~'T)p,^'#v)_a#x',0j5`#'Z6)n(K$z.aSq#)Y)5p(j2bm&;j&cZF4)A)ASG#G#t+
,(%S(:[v5Np,#*YAxl~%(e{%5},wrr$vm$4)s<})L#e@b;|&b#;###)#)#Y|>]n$ul$.'~#j1)o.s
*q#)l$9[Br#.5m)%y$#55>#qD)$#o(|&$Aw&_^%#{+)n(&2A)A)A)//H#GY;)j#d#w&#y$#)#w#)q
#{(kA;05{+/Sp5*$f5$q,|+(&jCx'e/l-fw#%j'6v)gel'h;t+i#;~'j###v)k#6q#i+v5l#|,m#~
'n#+YAv)o#5q)5x*p#M~-q#_#{Fvt#r#Su%YMiIFs#)##u+#)/#)#z%t#$St(u#n(v#OSw,~$w##)
;;r'x#0#|&y#<#i1t(z#p&{#6i%)k,:|#$);M#/#}&5/5SMSGt(}#t(~#p(r*i$5eSt.j$/Gz%k$*
M~$l$<Mx$m$H5eGq5x3n$u.x-o$k#s-GAui$n(Fur$j5p$5y'w##z1q$r#v&r$GYAn.s$#q#er*t$
Sj5u$)}##n%}#_x$v$#u+o1Lw$###5#w##_A|/x$;YA:y$#M)))u%#G#)#;)S)))/)#A#;G)G/;sE
p8z$####{(r3{$MY{Lt.|$)}){(v2}$_YAp#|#y$j/~$MYo.|&i%/w#5}#ui$r6j%e#ym%p/k%ogX
l%#{+#q#Ys'/t(m%)u%#q#}j*nk+n%q;{=#;_iUiyA|},o%{{Qz|&p%ixt$~x&p#Gn(q%#Y5)y9~'
r%)AY|2s%YY#G#o%;y$uu*v2t%_q,}#m$i1(u%i(ivk#y$si)qni%.d{xE~<v%;k#/SGY)5:_nk]w
bYm*)s04`m$M)Gy'5w/|%|2coRp7Ss$oFy6#}2#))#)))5#e###G#o1#5)M#G#m'#5#;##/G#o|#)
mo#)m-vy'w%x#;#w#st0Li$#m$)G#)#;qt8tUx%)}#y*n4y%;Y5)sp.:F#}&#)##)##Y#5####A#5
######/#)##)##########)##)5#G#5#5###Y#m$;/#;#m$y-)mi#z+#5{:ew#)w##w##w)Yk#/i(
#}/5m0k/w&(')l#u+5SG)iOuz+k#k#/GSm?ey6o+e5{.MYAs*My'o:w##MM#)e#e5w#u(s$k,#ws3
jly7y*kkS_k\)ikgy}v%qq&ujyl2$y'y9sBna&wzlx$)");
const std::int32_t kLowerCaseDifferences[] = {
-42561, -42343, -42319, -42315, -42308, -42307, -42305, -42282, -42280, -42261,
-42258, -35384, -35332, -10815, -10783, -10782, -10780, -10749, -10743, -10727,
-8383, -8262, -7615, -7517, -3814, -3008, -195, -163, -130, -128, -126, -121,
-112, -100, -97, -86, -74, -60, -56, -48, -9, -8, -7, 0, 1, 2, 8, 15, 16, 26,
27, 28, 32, 34, 37, 38, 39, 40, 48, 63, 64, 69, 71, 79, 80, 116, 202, 203, 205,
206, 207, 209, 210, 211, 213, 214, 217, 218, 219, 928, 7264, 10792, 10795, 38864};
constinit const CodeTable kLowerCases(
R"(t1I|&Rk;{%#Gu((K##############################################/#####)#####
##########)##############################################(@$$###/(f$$##(d$$.d
$*(`(c(d&&'(e$(g(g'1%(h$(i#&$####(k#$$$)$#$$$.k#$$##(l#$0#G(Z$$$$$$$$########
#######)#################)$$$##(R(V%%######################################(O
#$################G(p#$$(P(p#*%#(Q(k#(l#&&#######qn####/#M(n#A(h#4h#(m##.m##r
$=#Sk)(dM(%######################;(`)$#(d$*4.l$n#t($y,&######################
##########S######################################################(f$$########
###)#########################################################################
######################)l*n#ssCl*p###;#sv(v5q#F(n|:'At+`)/{v#$################
#############################################################################
#######################################################S(^#$#################
#############################################################################
SRi#MAYMMMMA_#######MMk&MMMMMM).g(i#a:h$`,.hf*.h(/a.g.h($wp#(g/(f(gB(m#{+l$k#
y$(,wz)|&l#qs6|,3w,%#(i#(k#(k#+&#####(j#(k#(j#(k#&')#M.k#$$##################
#############################################################################
##M###5#uvl1#############################################y$##################
#########qD#############/####################################################
#########Y####(k#$$#######5##(h)$##/####################(e(d(e(g%&(j#(i#(j#(q
#(&'##############(m#(l#(m#&&##(m#$$##############(m#k&$son,|&Luz.x*q#wDq)kJd
q##w##G#)ov5x-SqJx%qoCo(iii,o(i1v&p#yxo1j)q#}w|~8)");
const unsigned kTraits[] = {
0, 10, 12, 14, 15, 16, 32, 44, 47, 64, 79, 256, 266, 268, 271, 131072, 131088,
131104, 262144, 262160, 393216, 393221, 393226, 393228, 393232, 393344, 393349,
393354, 393356, 393359, 393871, 396815, 396943, 397455, 397839, 397967, 398479,
398991, 399503, 400015, 400527, 401039, 401551, 402063, 402575, 403087, 403599,
404111, 404623, 405135, 405647, 406159, 406671, 407183, 407695, 408207, 408719,
409231, 409743, 410255, 410767, 411279, 411791, 436367, 439951, 446095, 448143,
453775, 455823, 459407, 459919, 460943, 496783, 502927, 503823, 503951, 504975,
505999, 507023, 507919, 508943, 510095, 510991, 511119, 512143, 512655, 513167,
516239, 524288, 528911, 529039, 655376, 786448, 917504, 917514, 917516, 917632,
1048576, 1048588, 1048844, 1179648, 1179658, 1179663, 1310720, 1441792, 1441797,
1572864, 1572869, 1703946};
constinit const CodeTable kTraitRows(
R"(X../)#s$w(|&+q)v(((H($(i$#*&%%+5)/#/#F-(#S#A$$<#$F&#S#A);##%##############
#%%%%##################%%%%#######$(.'%&##&$$####&&''''####&&&&&####%%%%#####
###########%%%%##############)#####&%,###)#/)5#)#//)##&&$%##)##)###%%0%##)/#G
-')#)#''##############&$$####'%%%#######)-'%%-$$#############################
#####$'%%%%####%%############B+#))##5########i:Vi(A);}&t%r#(s#:n##(m#<.k#5)_@
B5Q(v##0/)(?06#($*$(u#.v##)#l#()((##(3#$/(*/%%6%(3(-'/&##)(-r$#%G+=s&;%4#.#)&
%#######################0#(.$$%#%$*/.###/#5/Y#u%T(#u%)##/#5/#$###############
######%%%%#######)@%.=%%#####################################################
''$%#########)%%##%%%%%%%%####%%%%####%%%%##########%%%%%%###################
################################)})w,($S():$#/(r#$BA)#)$(u#$(M(N(O(P(Q(R(S(T(
U.V(W(X(Y(.(Z#([(\$(.(1$('{.FOYP(a(b(c&(G;@9q)(a(b(c(%(%(%(d(e.(.+;#)#l$'(f5:
>}2(*##}##)K(,$6(##*)#$*#v(%#(gy'&&)#)/#)##/#######)r8dIq/H%#T(Ck&6#S#/#;o+1y
-.Y;Vi+Yv#v#%&-#)#//(0(0(02&));4&(|#r$'n%l$(m$G#)#;&&(g'0O5(|#)%($(%)3Rn$,*i%
R%#$.#n$k%#G##/5)(%#(a,9+*).j$('T'5.%##).#e.%e(.)+(%r,(P)#;('#1,6)))(m#0$G3)#
m$*/#_)&n$n%$#G#)#;)(##1>$)$$)('j%+o%'F%$%-n$l%#G#)#;)(##('''5+$((*)(%H(%(g($
7.)#(').&k#$}#$m$(4y*'('&)1/#4'(*T's*'3('i$n%%#}#)$#28$*(h$0()H(o#(p#$4%G-s'#
.$|.(,#$%(h$(()&&,$)$()I-_+w#'e()%+o$l*%,$',9%0#4*()(5O(#Y.#s'($.$x2(&5'+3%##
*(%#/&u$+m0&#(k$6.r#($h%:s#/p:##'6.t#('*b:u#*%m#.>k,#_.7}&####(b5.)/(7S#5#5#5
#e#G(v#(w#(s#(x#)(t###7()(%$&.=(/(&*;F#&5$5$5#5#5#e#/T()k/l*5(>5*&(>)(';(9&(8
((--($k$A++6/#1)G/6k##$%*B(&&r#%)l*^##;#k,(0/~9o$(p$t%q$m-l's$r0s$}~#4/i1n7%{
x'(r#kG.'(+(7o'+%t'*y')e~-**(,GM#)S(-#V(&{+0(R(%u?){((cy?2:$)/6)$A(d($(0s[$$,
'8n.'%%#G%('#$)MC)R#+(#w,<B)#t(&+ei%8'$(G####(%(4%%/#w((3(A@$(D##.%.C%%(n$R$~
'&(*(*Gf.#(%}'#6))(}#(,*,c/s*()(#,/##/.#z,OO)#&y5(2Ao+)/}#4%#(n#@'+5#($I8&A&)
&*n-49#_#s$#m'k##{(w)*&G#)(l#(i$%(p#z)@2(R(n#'&#(l#(4########################
#############################################################################
##############################################;('(n#.)(,#''##################
######################################################################%%####N
OA*B)NNMMA*B)N#$######NM#(G############+NOMMMM;$)0(y##($')($3(#)'(####21(#-*2
'%32'53'#&,-3#)&'###&(#'.w#Xt#(=(o$(p$*'(#;#e/#.w#=(#1,#)5(r$#$M)$l#$G%>(}#Y,
,}&#k#_#m*...65/):2#/*$(0#*6$z#9#/#_#));))(&$$#(-#$#**$/(0A&%B5;A}#l$v#}#0&;$
YFy#.1l#*/$y'/y-#5#)#{%###;+#)}#$)#)###u%###Y;))))A))))){(5w,5A5u++e#.0pL$q&_
5/k;l7j##(s$k#~&yS,Y#S#q/5#;S#)#)))#5#)##))#/#/)M/;###;e_))##)##s$#))s$A###)/
);#))5)_);))#;)###)i%);A#5)#5#)#)A##)#####A#/#A#Y)w##)#5###5/##_)w,/S#q##q##i
o$)}Y$w;/k;'s*1y$)s-#5#}M|,$w,##/)######5##)#A,0$############################
#####################################################################M####4'$
rA%w#(Fy9r(}J%m6#e}Yi+(.y*(o$(G(z#(H.p$((@#(%#/)$q#(,######################)#
####A)#)#)#)#)u%#5.n$,$%$f$######################)#####A)#)#)#)#)u%#)5/#$~,m9
/q#y9i(#s*Mq,#{%(.##k;$qevqq#j$j1w|s+}s3(,###################################
#########)(+43$Z)%###########################-+r5)w,%############/###########
###################################################%M$###)########5###)###/##
##################;#;###############5###)################k&#)*M(C/(.5${%.B*#6
($m6*m-}#&%y&x$$k#$})?44r&`(#(Dgx'Q/2&<4F/q)(F+8)#(%*(Hn(#@#'$TY;i+B,)))f#M#$
t$i$#/A##%#*w,('#)('**;)##y'a'-)=#(Hl;:*y9k'M,')#)$#(*t$xl~%t$ej&Q5l-P5pj9?ni
o#k$ri#l$.2###)Y####))/k2)s<})L)i#;;(=(p$#[k#%;###)#)#Sv:v(ul$s$i1)o.s*k#/l$*
ZBL-L.)q%+e#y$#55/###qD)('#p(|&?u:.n$i(1A)A)A)//G#G#XD3$(*}~%(%m]#mH@%{Cx*7wD
q)kJ_#w##G#)yw-(14($);#'#'8&/#s')$(D'7(3uL&%ly$x-$q>:5s*v%/<iv#)u4Aw2_},5{@(4
(&#j.r#(4z*&))Y$+&}%(:##q##507)&(7,(l#5($Y(dm-4(v)+(Y:'('#.g/(,()|#%($.##p+()
e.#&x,/T#(=%.(;()(#.#%(#&x801)#(#'$D')#qJ$3A&(%r%+,v.''$(V&'5+)).V(%T'Y,)L+/;
_^(##)##}))(&,A$#)##/$$)*(s$()$t#)}52N)(%*$(q$~%%w5(&,F(#(-.)&#,&(+(+|_$(#,9+
*.#+$(#(#k',}52N)##&$u<#%#)A(''n;%(t$#*5'5(#se1X'#)l;t(1i1L,)#)M#)#k&%>%))0(,
(,&##%lF06*)6#0$}&'[s*A%%6M'M&C,/t*El#%#'yU$%/###|U#H$A$((i6w%#%H#)#)|@A/##)#
G'#v1=#*#*$##n~#)*T*%%p##&{(*>1**(#}%$izal$6$Bw#kzk&e2/pv>@4w/L/so)t('i1q&sH&
#y.G:)w5%_)q~x*$(#$:6q}Yn,){%so&L:.s$31(t$=R#R8,@(*z'6k#F$yB0ql%~6:#}2#))#)))
5#e###G#o1#5)M#G#m'#5#;##/G#o|#)mo#)m-mi&z.'5m-M#q##u%;#w#st0LW#m$)G#)#;{:((m
KG{o$#m05k~%5{d){a#)#G);#{t%L$y*j)*{(D(6nv.:$#}&#)##)##Y#5####A#5######/#)##)
##########)##)5#G#5#5###Y#m$;/#;#m$iy#(Hm*5{:ew#)w##q#)w)Y`<i(#o(w&)5*e)q###$
Zz${.w&$.Gm#Z$i%#)S#6SG*q#C{R)k>))#/)m6)/#5@%{d$y0_A#k&G))Me#)5)#5)k#))#M)S#;
/e/M/)###5#A#/#Ai7w,w2;M)m$/##A)k#i[})e5{.MYAs*My')e5)q#Sm*eq,#Y#iRu7Mq#qGqeo
p,)xny7Ao(miVqeikd}yv%vq&B*ziyl2(0(,y'~9t$sBna+qoLjpoBxjvD@)sjvD))");
const char kDecompositions[] =
R"(~<cA#qf(y%5x%*,G$%%H(${s#-zs#o#$E$s%*r%qs>u$&##&&'#')?|v>%#%%#%%#%%#-%#')'
]%'p#%#%%#%%#/%+2%#%%#%%#/)-,%%(%#%%#%%#%%#--/2%#%%#%%#/%+0-3$%#%%#%%#%%#-%#'
)']%'p#%#%%#%%#/%+2%#%%#%%#/)-,%%(%#%%#%%#%%#--/2%#%%#%%#/%+0)#1%|$*%c#%b'%c#
%bg%c#%^p#%c#%b%%c#%b-%c#%b-%c#%`#%c#-`2%c#%b'%c#%b%%c#%be%c#%bZ%c#%^6%c#%b+%
c#%b%%c#%bc%c#%`l#%c#-`%%c#%b%%c#%b'%c#%bg%c#%bd)#t_%cc%`m\%c#%`m#%c#)`n#%c#%
bo#%c#%bX%c#%bjV%c#-^kU%c#%bo#%c#%bX%c#%sUx\-nXi\%c#%b'%c#%b-%c#-\6%c#%bo#%c#
%bX%c#%`8%c#%b%%c#%bm#%c#%bX%c#%`Y%c#%bX%c#-`4%c#%b%%c#%b'%c#%b+%c#%b%%c#%b]%
c#%^n#%c#%^#%c#%b/%%0%c#%b/%c#%b-%c#$0y%j#A%c#YV#%c#r#n$|_ib&#c#&c##%Rl$%#c%c
#%^b%#c%c#%|#k]%c#%R#%c#%V#%c#%V#%c#%m)2%c#%b(%c#%b9%c#%b:%c#)|$+%c#%k=#%%#%|
?#%c#-n.3%c#%Z#%c#%Z[%c#%oBj#%%#%t$3%y3#%~Q#%n#t^%#c%c#%\wZ%c#-T$%c#%y'%%c#%`
#%c#%>#%c#%r0?%c#%b'%c#%Z&%c#%b'%c#%Z&%c#%b'%c#%V&%c#%b'%c#%\&%c#%b'%c#%\&%c#
%b'%c#%fM%c#%`#%c#-z#V%c#=p#,%c#%Zc%c#%k*h%c#%d#%c#%|.)%c#%sH(%%#%tJ#%c#r6D$m
N$~M$3$iO$'$/$nO$'u%|''%#%%#)%#_%#l#%#3,sT$tM$1$-$iQr0u)$%(G%86r(~&9n\i&0Y9X~
%%m,#%uc#$lb%ub#%'#%'#)/#)/#%+#%e#s$n$1%;#%;0%+#%'#%'#%G#s$F1%;#%.0%/#%+#(P$/
$H%}##%#1$:$.r$.$1$%(v#$]0F=m*2%#3)&01<15K0%&$%9/M8#u%c#}#(.%#3)&01i#15Z0%&$%
9/k$o$5%%#m-r(4%c#Yn##%c#%b'%c#-X&%c#-w.'%%#%t1#%c#%`#%c#-`*%c#%b+%c#%V#%c#-o
/#%%#%|0#%c#%v#*%c#%b+%c#%b)%c#%Z(%c#-Z#%c#u9s9sY};s1{2%#%%e#%d%%i#$k.hc%e#%q
+#%l+#{,s,b)J#eE#sv$mVscA3#-)#o&^#%%#%%#%-#%-#%%#%5#%+#q3w-w+%#Uan#X%%#)=#i/y
+s+-/#k&f#%%#%-#-A#oJw9s9-#R%#Uan#X%%#y)i*}-u)u$T%%#%$Uo6s+q+u5{*q+=1#%#%)#J%
+I{6k+q)%%#%$Uu9m-o*)#-%),%(Mm/q*q'i7s+s+m'fT%#3n(u(y){$k9I7#5-#5-#5-#UX&Io$|
%)#'%y%;&#@w{,%%A&#@#Az%Ai#e{$I7#5-#5-#5-#UX&u3q-{*vFs0i}4or*sp+)'#)'#)'#)'#1
+#m'u##)'#-'#%%#))#vx#nn<$}+$z+('$%$y=$t=$%$%$%$%$%$%$%(%$oJ$lJ$'$'$%$'$7${L$
%$i};$~}=$'$%$oM$'$%$pM(+$'$i4$z3$}K$u~;$%$v~=$+$%$y~=$x|;$xM$qi>$jv:$%$%$G$%
$ln#$5$)$%$kk#$%$?$-$%Xu*j&rL$zL$kM$n@$}@$rM$yM$'$+$)$%$%$yo<$jk<$l$$qp<$zk<$
~#$$$'$%$%$%$)$7$%$r3$i4$%$mz;$jz;$%$~O$qP$%$%$u:u+rp#zk9%c#%`^%c#%b[%c#%b?%c
#%i)l$%c#%v./%c#%b[%c#%b?%c#%b6%c#%b/%c#%w/|#%%#%$%%%#%t2{#%c#%b)%c#%{Hv#%%#%
xK%%c#%`(%c#%`)%c#%b[%c#%bX%c#%ba%c#%b1%c#%`'%c#%k)j$%c#%x.#%c#%bg%c#%b?%c#%`
>%c#%km?`%%#%jp?}#%c#%b*%c#%`z#%c#%b/%c#%b[%c#%`Z%c#%b[%c#%b?%c#%b*%c#%m)z#%c
#%b1%c#%y'2%%#%$%%%#%z6#%c#%b/%c#%^#%c#%b[%c#%{o?`%%#%zr?}#%c#%`v#%c#%b[%c#%{
4Z%%#%-#%%#%{p>#%%#%ps?#%c#%b[%c#%b?%c#%b*%c#%`4%c#%b;%c#%b(%c#%}5z#%%#%%1%%#
%~8,%c#%bc%c#%`h%c#%b%%c#%b1%c#%b$%c#%b[%c#%`Z%c#%b%%c#%`$%c#%`,%c#%be%c#%b?%
c#%F#%;t#%)'%'#%Rx&%{9s&5x<[%c#%bV%c#%w(2%c#%b$%c#%b5%c#%b.%c#%il?$%%#%li?$%%
#%$$%%#%$5%%#%$.%%#%ii?)%%#%pz?]%c#%bV%c#%b.%c#%i)&%c#%b$%c#%b5%c#%b.%c#%sm?$
%%#%l|?1%c#%bW%c#%V#%c#%bV%c#%i)2%c#%b$%c#%b5%c#%b.%c#%qn?$%%#%zt>$%%#%$$%%#%
$5%%#%$.%%#%$c%%#%~=#%c#%bV%c#%q<2%%#%$$%%#%$5%%#%$.%%#%$c%%#%~>h%c#%bi#%c#%b
V%c#%b.%c#=yj#C%#%%qu<J%%#%$%%%#%$y%%%#%px<j$%#%%iy<J%%#%$%%%#%$y%%%#%zu<j$%#
%%sv<J%%#%$%%%#-ry<G%#%%kz<J%%#%$%%%#-jw<G%#%%yw<J%%#%$%%%#%$y%%%#%xz<j$%#%%q
{<J%%#%$%%%#%$y%%%#%px<j$%#%%iy<J%%#%$%%%#%$y%%%#%~{<j$%#%%w|<J%%#%$%%%#%$y%%
%#%ny<j$%#%%}y<J%%#%$%%%#-||<G%#%%u}<J%%#%$%%%#-lz<G%#%%{z<J%%#%$%%%#%$y%%%#)
z}<~#)u~<J)#%)#y%%n{<j$%#%%}{<J%%#%$%%%#%$y%%%#%|~<j$%#%%ui=J%%#%$%%%#%$y%%%#
%|~<z%%#%%+$%#%%'$%#%%'$%#%%/$%#%%/$%#%%+$%#%-ms<i&%%#%%#%%#%%#%%#%%#%%#%%#%%
#%%#%%#%%#%%#%%#%%#%E#%%#%%#%%#%%#%%#%%#%%#%%#%%#%%#%%#%%#%%#%%#%%#%o$#%%#%%#
%%#%%#%%#%%#%%#%%#%%#%%#%%#%%#%%#%%#%%#%ri=t%%#&%ui=y%%ti=#%,#)-(%}o=)%zr=t%%
#&%#*%#%%#i&%|o#p$$us#%ts##%#k$%m,#%un@)%pi=#%4#)5(%{p=)%|s=j&%#%%'$%#%%#i&%k
s=j&%#%%#y%%~o=n%%#&%E*&D3v|,-#k%%E#%n$n%%#&%#*%#%)wx=$%#%%#y%%vt=n%%#&%/*&.3
#%*9%#%%+i$%/#%n#n%%#&%#*%#%%*I%~dJ%#%$p&-{u@i&%r~<#%-#),(%us=)%pw=j&%#%%7$%#
%%#i&$vd%n-n$({qA$%$|qA$#$#$#$#$#$#$#$#<ksA9jsAaT?%#jf&##taD>1mvA}tA&##}tA)))
&##)5pvApvA)$kcEap`%#^%^_W'kvAqsA(kyA@lvAdC$i%,v$$%$%$%$%$%$>${tC$lsC$L$%$k&$
r%$%$%$%$%$%$%$%$%$%$>${tC$lsC$L$%(}$$+$7$5$uK$~L$)$%$%$%$'$)$%QfvnAz/A~%jpA&
##C$^%y)K*z&J*&##/$m;)l4Q$r&$`$#$#$c$m1$~3$#$)$c(^%#u#,'$%$%$#$#-%f&%2t#%#3(/
({l#(zl#(@%6u_$%$%(g$b$%(1$g$iq%$%$%$%$zq%*hv`;$yp#$<$b$=$o|?4rrC$c$%$+$%>~${
tAd&##'#'##2xtA&##'&%##&$#'&%##&%##&%##&(#%&+##&*#'&'##&'##&'##%.#$S%#jtA&##E
%#=$=%#<&####'###U%<A$A%#@&###$:$4$%$5$[%#c&##c%#=$=%#<&####'###c%<A$A%#@&###
$:$4$%$5Jp%mqAx$eu~Bzq>%'#m#'#q%o%#%+#%&#q)o$#5-#-)#k$S#)'#9/kr@&##qvC)))&##)
e?pr@-1#-'#))#}#jxC#)qzC#MJ#%vxC#%'#%uzC#%%#-=#%%#-)#%%#=)#%%#-1#%%#-)#%%#k&Y
#%/#%%#%'#w(j$#%%#%K#%%#=c#%%#%%#%%#v*}y-$%jXnoR$%$%$%$%$%$%$%$%%2pf%#%%#%%#%
%#%%#%%#%%#%%#%%#%%%4&6%twC&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%##'#21v%#'##%##'##%
##'##%##'##%##'##%##'##%##'##%##'##%##'##%##'#%4#%5*%%#%%#%%#%%#%%#%%#%%#%%#&
2'&&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&%4#&6o$,&#%#&#%#&#%#&#%#&#%#&#%#&#%#&
#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#$U$%$%
$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$1$%$%$%$%$%$%$%$%$%$%$%$%$%$%$
%$%$%$%$%$%$%$%$%$%$%$t&ut*'wvC}oCowCowCx2xuCxuCruC%))&###o2{yLmepk#xuL$JxKkp
O~Vuxa~.{sVTpiv#$s#$?$5$W${#$1$K$W$sZ$o#$/$Q$K$M$w$$M$9$}-$q($[$-$_$5$Y$=$U$u
$$G$Y$ud$q&$wI$Q$3$9$G$y&$mK$m$$y*$Q$I$O$y$$)$y@$7$;$=$q*$3$-$s*$7$=$3$q%$E$G
$k'$wT$i$$M$kc$-$q'$C$=$M$q#$-$k8$S$c$m|#${%$Q$k%$S$5$1$u$$-$c$}k$$sH$;$-$+$3
$G$'$m'$s3$-$w>$7$q$$1$5$3$k($1$u4$1$o$$E$k$$q5$1$E$u=$o+$/$q0$y'$i$$mB$}+$iT
$Y$i%$s$$i&$9$/$e$y&$7$o?$1$5$5$C$A$+$i'$+$/$iy#$_$sJ$;$Q$u9$=$o&$i$$qS$A$A$i
#$m#$}1$;$}%$q6$a${2$M$-${3$u0$m+$/$-$yt#$5$i.${-$)$k$$q)$=$+$1$y($g$/$?$i/$s
$$+$s0$)$I$y6$m$$1$m&$7$)$7$_$yC$mD$7$o#$O$3$7$+$s#$+$E$-$=$Y$A$3$m%$A$+t'zqp
't)wqR(w|D$)$%i#zwD}wO)'#)'#)'#)'#)'#)'#)'#)'#)'#)'#)'#-)#)'#)'#=1#%#%))$%#%)
)$%#%))$%#%))$%#%}#v$$=pvR#%#%)o~R$%L@Ui#A)'#)'#)'#)'#)'#)'#)'#)'#)'#)'#)'#-)
#)'#)'#=1#%#%))$%#%))$%#%))$%#%))$%#%}#v$$-s&#%%#%%#%%#19#%t&k$z(tmA$%$m/$j/$
o/$%$n/$%$%$q/$%$%$%$%$%$|-$J$%$%$U$R$%$%$%$%$%$%$%$%$%$i'$%$%$%$%$%$%$%$%$%$
%$%$%$%$%$%$%$%$%$%$%$L$x&$%$i0$%$+$'$-$+$'$~0$q1$'$r1$%$'$'$%$+$'$'$%$%$%$%$
)$+$7$1$-${.$%$|-$%$%$y#$%$)$5$%$'$7$)0{t_$u,$x+$ki)$~~($i#$f$ikI$|yH$v%$R$ss
+$xM$xv(r1pzr#roAJ&#'#&#%#&#'#&#%#&#%#&#'#&#'#&#%#&#'#&#%#&#%#&#%#&#%##'#Fu|1
nwC#'#'###'#%###'#'###'#%###'#%###'#'###'#'###'#%###'#'###'#%###'#%###'#%###'
#%###'#.=##*#$,{t1wj2iq2u##)###/5nm2*#sl`n}1&#u,#&#x+#&#ki)#&#rr(#&#kb#&#no##
&#ko##&#|f#&#w{$#&#kv4#&#ov)#&#|k$#&#ni%#&#wzL#&#zy]#&#wo/#&#wT#&#j:#&#u}2#&#
piG#&#{{?#&#up;#&#lj4#&#tuH#&#vx##&#kv%#&#y~&#&#uy<#&#~{I#&#sia#&#zr\#&#s~G#&
#vsL#&#msU#&#5#$uyy#$qq)$yk'$u~6Fjjv%rz|%[%^h%#%%#%%#%%#%%#%%#%%#%%#%%%4%#%%#
%%#%%#%%#%${r1$'$%$'$%$%$'$'$%$'$%$%$%$%%Fs{1%'#%%#%'#%%#%%#%'#%'#%%#%'#%%#%%
#%%#%%##(*#{k2F,#'&=r/q*%$#(sl`$u,$x+$ki)$rr($kb$no#$ko#$|f$w{$$kv4$ov)$|k$$n
i%$wzL$zy]$wo/$wT$j:$u}2$piG${{?$up;$lj4$tuH$yjI$tu$$~i=$}zY$xub$yT$uv:$moM$v
{l#$yZ$i~:$zx>$i#$f${r0$pm*$t0$qt($n$$uy<$~{I$sia$zr\$qz%%~x}#t|1%#%%#%%#%%%4
%#%%#%%#%%#%%#%%#%%#%%#%%#%%%4%*osv$%%#%%#%%#%%#%%#%%#%%#%%#&2nsv$iwz#&#%#&#%
#%Qw$&]9nnv$%#Z&T&h$yzR$'$'$'$'$%$'$'$'$'$'$'$'$'$'$'$'$)$'$'$'$%$%$%$%$%$)$)
$)$)$)$%$%$%$%$'$'$'$%$%$%$%$%$'$%$%$%'(j'k~RyzRwiA}{@#'#[m%j(#(#3)0n#&#5I#('
n$3M4&#s#p$&'t&q$#)'C~%{&k$k}R#'#}%*#&'4?&#5q#&%z'7#'#k&p#t$#'#+q#u$#'#r')4#'
##/L#''#p&j&#'##c{(#'#y&a##)#x&%p%j${(%#s'#)##n%n#k'Z#)##q${(d9#(##?~$##''r'.
]#)#####3#)#o'~#n&j#.#'#'y%u$&'A|%&'DE#'#EEr$#''z'z#m'#(#i'GEo%#('4q$z&n&&+5p
$&##1#'+~'u$7&1#j&&'#u$%#i(%'l#&+8h&%`*#)#6}$'i(l##'###5#(#$#s#2#))%~'r$hi##'
##=q$&##+&#$}$#))3&r##n'#'#'I-#)#6~$Ddo'&#k'm$#()j%t$k&i&&#L&#'##?v#&#m'0#'#l
'k$T#(##5&n'#'#$#3#()%z'u$k$#'#$o&x#%#i(#(#|'3#j$&#y(2&##3#')z'~%m#&##o%&#aZ&
#s#b#(#33.i(#'%~%y$;%#m%#)##^~'5#&'t%x$#(###k$4#'#m'k$i##')##n'&##i#&'~'3#'+e
x#o'%#o##'%P~#E#(#w#m%z(2%%Z#)#I<Sn'3&)l$#%nnSqpc%%#%%#%%#%%#%%#%%#%%#%%#%%#&
2zxj%}oc&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&%4#&#%#&#%#&#%#&#%#&y$[ptj%%*E%h
:&e;E%=8%%=%:7&##v%&##%%XR%oom$ojq$%w{'p~-%|r-q{7%kp-k?#'}P~k.kls#orl#%zqw$l~
m$%&#%yl##%zl##%&#%b%%'#%.#&[a||r##'3'8vss%%-\%&#%yl##%#e%zl##%&#%hI&i#p$U&^#
#&.##&=##%ko#k#%zl##%4#%1#%,%%3#%yl##%zl##%6#%3#&'#p&&6##%7l%&&m%#&'#%&6##%7j
%&&k%#&'koCw%#'###j%%\lpC&YDF&^##&.##&y#E)#(###stCpvR#)#####rnS%&G%&#%yl##%zl
##%)\%&#%yl##%zl##%&#%^#%i#%%&#%yl##%zl##%&#%^#%_km#%^##'Kzp#5ztC%`}%%e>%#%#'
b}oC&i%&#|nCp%%e|#%\{$%eR%bD%e_%^h%#'%cq#%%0%#%&#%i%%#5%%N&#1-&#/#%\p##'cV%~$
&bgb%#'%i#c%b+%+J&$kpCc&L##%Birg%%#%%#%%#%%#%%#%%#%%#%%#&2znu$oiu$&#%#&#%#&#%
#&#%#&#%#&#%#&#%#&#%#&#%#&%4#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&%4#&#%#&u$m
$piu$rlx*oz#$'jFsnt'r8xuw'$}#p{&kkw'$q~#$lnz'$wpz'~|k'lt@$tlG$}zI$tN$lq?$~lB$
sx%$}yo#$#$xij#$yr[$|r_$mw#${{($yo5${o)$qz&$oB$y<$sx'$~rH$}g$}v#$kf${~0$sv-$o
x($pso#$i}$$kv8${l'$}|4$ii9$~md${p3$k{6$qs#$ntH$wt@$}o&$xqK$is($iq&$su%${m?$j
yd${R$w:$qv2${j&$op'$sz$$wo)$}i&$w'$kx'$qs)$sl$$i[$|nG$}5$}i$$mm&$oz/$i{+$ps4
$vtT${l&$ky>$wi$$lv.$}r&$uz4$qs*$tqa$mr#$sl.$yw#$};$uv.${7$ml9$jjg$}iP$njQ$B$
ipJ$qt#$kn&$yn3$zn+$zxJ$qo'$suB$j~_$ml.${j$$wn4$oL$liD$wyG$roK$mt0$vo2$qm@$pr
'$ux8$vrK$iu$${j@$}x-$or&$zq@$yxE$~{D$zy)$orA$ty@$qs2$zvH$q_$u($ux7$un5$ut%$i
u($sj'$tlb$k>$wl%$ms%$m}&$ys*$oq)$q{=$kx$$ik$${$$lop#$mi5$iw$$ywE$trS$mh$i*$q
\$i{*${Q$sk#$kn%$yj$$uY$on/$vs*$wt+$mi#$lwd$u,$yP$sp=${i9$mL$~jN$k;${q#$wp($o
m1$n~($zpF$}m($u|$$oJ$oW$wq4$s0$ot+$s/$kw2$ux$$o'$y2$nrl#$snL$}j9$u~$$zvX$~j3
$iV$wq+$m'$su)$sp$$o}'$sq$$un/$s{+$sv/$z~[$yjR$jng$o{5$y*$oo%$q?$kr%$q>$og$}u
$$ou<$zxj#$yq1$y~V$|ij#$yp-$ms1$w{B$jjR$}G$w|&$iz+$oxD$z~g$iL${s($k})$s<$o?$s
l$$ym'$kK$i{)$ku)$G$qk)$mj%$|mg$qy<$l{;$ik?$u`$qj2$uo1$ux%$}T$t|Y$mn&$}}4$pm'
$u'$sA$pj*$|Q$o~;$~y_$ylW$zsS$r$$ui-$ik$$mm;$l}B$qo2$js&$iuJ$li'$ys.$xl-$~{L$
xi.$ur$,q\(iv.,|r5$y|B$mt#$yX$g$1$w#${l?$xz;$ue(mq&({{$,in%$y10yj($=${#$ws$$t
n-$}{%$~zj#$o<$k)$qB$Y$y)$oU$q)$y($yJ$o)$yv#$7$qj$$k3$o#$}($kn#$m-$y/$oM$}|$$
w.${7$oU$i1$uM$iq$$u/$9$$$3$/$1$m$$%$i0$y%${<$kS$M$}$$u;$m-$mL$u,$#$oK$yw$$i,
${@$}$$kE$w$$m^$w+$iy&$w9$o%$zwZ$oj|6$rsn5,xvV$wr#$z&$lL$iI$m%$u=$s$$m]$p&$i&
$s&$oY$}'$i-$C$q8${1$ku#$1$},$i&$i;$u*$l&$i,$~#$k-${%$mD${'$y$$s7${9$w.$+$m%$
kj$$y%$qC$kE$B$y'$y6$q>$wn&$tr%$}*$i+$u=$q-$w$$q4$'$q/$E$U$w'$6${C$}K$s8${0$m
4$y-${=$}1$wl#$k.$mr#$oI$k&$C${:$i%$|#$y$$($D$y&$m'$uB$yR$q<$w:$}3$s}#$m)$o*$
}+$k#$;$m$$}a$ss$$uju2$.$i}+$pj}7$kr$$e${ql9${z*$qwC$t~x6$w&{&zip'-%#)%#)&#.(
&##)%=?%##Uo~$q~$%#D%#/%79%649i)o&)U)$B$F$)$%$1$%$%$9$'$ty%%sy%7%#%&#.}o%&##%
%T,%#%%#+%%#%%#%%#%%#%%#%%#)'#%%#%%#%%#%%#)'#)'#%%#)'#%%#)'#%%#%%#%%#%%#%L(%*
/%7#%5#%J]$s.$#$7$#$#$#$)$#$#$#$'$#$#$#$.$#$#$#$-$#$#$#$.$#$#$#$y#$#$#$#$'$#$
#$#$f$#$#$#$$$#$#$#$)$#$#$#$%$#$#$#$/$#$$$#$'$#$.$#$C$#$0$#$S$#$#$#$/$#$#$#$+
$#$#$#$&$#$#$#$5$#$%$#$#$#%Wy*%##$J$#$#$#$($#$#$#$K$#%##%##|%l#$#$#$#$W$#$$$#
$'$#%$c$+$#$.$#$+$#$1$#$#$#$j,$#&%bi)&###&##w/&###&##v,&###&##q+&###&##$&###&
##'&###&##3&###&###&##j,&###&###$w+$#$#$#&v+#\&##%&##S&##+&##%%fr#%#%%#%%#Q%#
+%#%%'^%#%%#%%#Q%#+%#%%%^%#U%#+%#%%%\%#S%%T%#U%%T%#%%#S%-T%#%%#%%#Q%'R%#S%%T%
#%%#%%#Q%%R%#S%%#%%T%#U%%T%#U%1T%#%%#%%#Q%#+%#%%%\%#S%#+%#%%%h%#-%#%%#%%#O%#%
%#+%#%%%^%#%%#%%#Q%#+%#%%%^%#%%#%%#Q%#+%#%%%^%#%%#%%#Q%#+%#%%%^%#U%#+%#%%)^%#
%%#%%#Q%#+%#%%Vo#%%#%S#&lm&j#1&#%#&#%#&#%#&#%#&#%a&om&)t%&##%&##I&##%&##)&##%
%fh%#%%#I%#%%#)%#%%'T%#%%#I%#%%#)%#%%%T%#%%#I%#%%#)%#%%O$%#%%%$%#%%%h%#]%#%%#
+%#%%%,%#+%#%%%h%#_%%J%#%%#I%#%%#)%#%%)o#%%t%%#%%#I%#%%#)%#%&#7^&##%&##%&##Q&
##'%fr#%#%%#%%#Q%#'%'X%#%%#%%#Q%#'%%&%%R%#S%%T%#U%%T%#U%-T%#%%#%%#Q%'R%#%%#Q%
%T%#%%#%%#Q%%R%%S%%T%#U%%T%#U%1T%#%%#%%#Q%%R%#S%%T%#%%#%%#O%#%%%T%#%%#%%#Q%#'
%%X%#%%#%%#Q%%T%#%%#%%#Q%#'%%X%#U%#y#%)~%%#%%#%%#Q%#'&#=&&##'%f@%#'%'&%#'%%&%
#'%3&%#'%%&%#'%A(%#%%%#%'#%#'%+&%#'&617&#%#&#%#%40%#%%'$%#%%%$%#%%0$%#%%%$%#%
%0$%#%%$$%#%%'$%#%%1$%#%%%$%#%%&^%#%%#%%#Q%#J%$#%'#%%#%%S%#%%'$%#%%%$%#%%0$%#
%%%$%#%%0$%#%%$$%#%%'$%#%%1$%#%%%$%#%%&^%#%%#%%#Q%#J%$#%'#%%#%&,%#%%#%%#Q%$'%
%#%)&%*T%#%%#%%%&%#%%#%%)Q%%#%D/%##n#)`:&#%T&###&##U&#%#&#QT&##%&##%&'#$&###&
%#]&##$&/R\&#$%&##[&#UZ&###&##$&##U&###&'RR&###&#SS&$R#&###&#$-&#UZ&###&##Q&#
##&'R+&#%*&###&%QR&###&##S&##-&'T,&#U#&###&##+&%#*&##-&##$&1P*&###&%QR&##S&'R
#&##-&##$&#$\&###&#'U&###&#QR&###&%R$&##U&##-&#$\&##S&#'T&##U.#&P&'U&&##U&$R#
&##+&#$*&###&##+&#U%&##$&+#*&###&fP-&'&#&##$&#'%&##$&#Q%&##$&'#%&#R$&#S#&1P#&
'$%&$##&'##&?$#&#U#&/R#&#$#&#U#&,##&(##&+R#&*S\&'RS&8S-&7##&)T\&$']&$&,&$U#&%
T#&'#R&V%]&%$#&S##&*U#&TR#&YS,&6T#&*U#&&P-&I&#n'DSm,&=###'X#x,yk&#'#$ZN#'_N]&
#'BQ:O#'*DA$#'3E')#'AD.&&HE-#5###zl&ux%kk&}k&}o&cwn&wo&mp&}o&cip&kn&wo&yo&#+4
#lm&uj&]\###'-m,kj&Sp#|i&$ioR$%$zmR$%$V$_$moR$%&zpRzw&z~%}###$mrA$$$vmA$#$z$$
%$o'$'$qiR$%$,$%$0$%$($%$)$%$%$%,~kR$'%p%}a%##%##%##$u%$#$#$r$$ioR$znR(=$$$-$
^$qsA$xrA$%$o'$'$qiR$%$vqR$)$+$%$'$A$'$$(a$|$$%$Y5bil#%ql&#%pl&%)#%)#%%ql&#%p
l&%%ql&#%pl&%%ql&#%pl&%%ql&#%pl&%%ql&#$`%/%%##%#%%##%e#%##%d%%##%i#$%##%##%##
$h$#$%$#$#$#$%$#$%$#$#$#$%$#$#$#$%$#$#$#$%$#$#$#$%$#$#$#$%$#$%$#$%$#$%$#$%$#$
#$#$%$#$#$#$%$#$#$#$%$#$#$#$%$#$#$#$%$#$#$#$%$#$#$#$%$#$#$#$1$#$#$#$%$#$#$#$%
$#$#$#$%$#$#$#$%$#$#$#$%$#$#$#$%$#$#$#$%$#$%$#$%$#$#$#&.|#{l&&###&##%&###&##%
&###%##%##4vl&$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$
%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%
$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$wjK$%$yt&$7$%$:$u6$4$l'$'$'$'$
'$k%$'$'$j#$i%$~'$'$'$'$'$%$'$'$'$'$'$'$'$'$'$'$'$)$'$'$'$%$%$%$%$%$)$)$)$)$)
$%$%$%$%$'$'$'$%$%$%$%$%$'$+$~'$%$tx@$t($%$m/$j/$o/$%$n/$%$%$q/$%$%$%$%$%$|-$
J$%$%$U$R$%$%$%$%$%$%$%$%$%0i'$%$%$%$%$%,%$%$%$%$%$%,%$%$%$%$%$%,%$%$%0ps1$%$
5%t,zh$i,$$$}tA(io$$~o#$%$%$%$k~#$y#y}Bqj~*y~v,)'#]7#u7u,y)%%#}k$oPsP%#UsbsAk
@%#6)#=uMi7{5%%#qwx1mlx(qnx(%%#&##opy5&##%&##%&##%&##%u/w(#%%#&$#*&%##&$#%&%#
#rr$vjj6$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$1$%$%$%$%$%$%$%$%$
%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$~$$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$
%$%$%$%$%$1$%$%$%$%$%$%('$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$~$$%$%$%$%$%$%$%$
%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$1$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%
$%$%$%$%$%$~$('$%,),)$%,)$%$%$%('$%$%$%$%$%$%$%$1$%$%$%('('$%$%$%$%$%$%('$%$%
$%$%$%$%$%$%$%$%$~$$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$1$%$%$%
$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$~$$%('$%$%$%,)$%$%$%$%$%$%$%('$%
$%$%$%$%$%(3$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$~$$%('$%$%$%('
$%$%$%$%('0+$%$%$%$%$%$%(3$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$
~$$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$1$%$%$%$%$%$%$%$%$%$%$%$
%$%$%$%$%$%$%$%$%$%$%$%$%$%$~$$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$
%$%$1$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$~$$%$%$%$%$%$%$%$%$%$
%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$1$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%
$%$%$%$~$$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$1$%$%$%$%$%$%$%$%
$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$~$$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%
$%$%$%$%$%$1$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$~$$%$%$%$%$%$%
$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$1$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$
%$%$%$%$%$%$%$s0$w7,o?$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$4$9$%$%$%$%$%$%$uz?$zy
?$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$mw?$~x?$)$'$;$,$$$j$$%$%$%$
%$%$%$%$%$%$%$%$%$%$%$%$%$4$9$%$%$%$%$%$%$uz?$zy?$%$%$%$%$%$%$%$%$%$%$%$%$%$%
$%$%$%$%$%$%$%$%$%$%$mw?$~x?$)$'$;$,$$$j$$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$4$9
$%$%$%$%$%$%$uz?$zy?$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$mw?$~x?$
)$'$;$,$$$j$$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$4$9$%$%$%$%$%$%$uz?$zy?$%$%$%$%$
%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$mw?$~x?$)$'$;$,$$$j$$%$%$%$%$%$%$%$%$
%$%$%$%$%$%$%$%$4$9$%$%$%$%$%$%$uz?$zy?$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%
$%$%$%$%$%$mw?$~x?$)$'$;$,$$$[$%,pu#$%$%$%$%$%$%$%$%$%$4$%$%$%$%$%$%$%$%$%$4$
%$%$%$%$%$%$%$%$%$4$%$%$%$%$%$%$%$%$%$4$%$%$%$%$%$%$%$%$%|mN{}%$%$+$)(U$N$,$7
$I$0$%$%$%$H$/$3$:$=$D$)$6$%$)$'$/$'$'$u$$y&$T$p$(n&$+(Y,V(]$0$%$%$%$H$/$3$:$
=(>$6$%$)(3(+<>4%(](.('$H$/(*$=(>,.(3(+(s+(v&(n&$+(Y,V$7$I$0('$%$H$/$3$:$=(>$
6$%$)(3$'$'$u$(s$(|*$%$+$)$S$%$N$,$7$I(.$%$%$H$/$3$:$=$D$)$6$%$)$'$/$'$'8F$+$
)(U$N$,$7$I(.$%$%$H$/$3$:$=$D$)$6$%$)$'$/$'$'qs$pj&vzi6%#&%%#%%#%%#%%#%%#%%#%
%#%%#%%#:DM~{i6&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#
%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&#%#&kqR0kqR$vnR$A%@@%KO(N$%$%$%$%$%$%$%$%$
%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%$%%F*%-#%/F%#A&((~lR%1<w$6#%#%s&4/k4}wRisR%}$o
)$'X{kT$vi'$pw'%|xDV$yl?$s{*$moS$zmS$vz*$qt8$}o+$l|+$|j4$kx-$ts.$s~4$pq4$}oM$
lo($wu8$tqV$tw$${j<$v|,$o1$nn6$5$yye$t~T$xo0$mz%$yv/${tL$loM$om8$s6$tpH${w;$t
u'$$$uw.$vrD${k#$wx^6rtp$}qYimR&#zn:#&#y+#&#kr-#&#}j6#&#||.#&#oq5#&#jyE#&#{m3
#@u}Q$ji,|o{8px%$,$5$wxu4$ttt4$}&$=$o&$y*$a$}&$R$|s=${mj6$n|w4$1$C$I$stv4$p}~
5$oi>$o#$yvv4$zuv4$=$~a$yb$5$ylq;$||p;$?$~s>$ky>$9${#$-$vy>$}j?$'$Y$O$9$%$E$q
$$3$5$U$7$'$#$#$iyy4$rkq3$t~=$M$uvz4$ruz4$/$M$w-$j)$C$c$k%$s'$W$}%$C$e$#$M$G$
3$A$y>$t8$w8$z1$i#$zp$$s~&$~9$o#$U$v+$i/$$$i+$ivi5$voi5$-$A$K$3$w%$uxj5${%$~q
j5$k$$;$~&$y,$nmE$?$yzE$y$$#$ijl5$|sk5$M$A$;$kxl5$~vl5$1$wl#$jj#$nrF$}wF$?$o'
$r$$mio5$vnn5${nn5$|jn5$($E$i)$%$luG$wwG$y#$M${#$z|G$mkm7$z~l7$}jH$)$)$K$mjv;
$r{u;$yir5$#$|~x3$puD$#$rnH$s|~7$ytQ$||q8$5$trH${vH$s$$7$g$m,$|mI$^$qrI$smt5$
z~s5$u+$+$'$&$i$$K$k#$>$9$k$$K$+$W$9${%$s'$i#$k+$izu5$x{u5$x%$w)$Y$w($qkv5$x{
u5$n($Z$luK$wpL$M$a$n#$nlL$}iM$]$k{x5$npx5$i9$x/$|pM$swM$~xM$j#$ww7$)$op6$|($
sn;$ri`$i~D$+$/$q%$8$syz5$pp}7$}}N$r*$s2$s$$kmz5$nlz5$|)$k6$|yO$k~O$w($o&$k1$
{nz5$ljz5$jlQ$srQ$y|{5$jx{5$lrQ$}tQ$}#$Y$%$}n}5$t|>$sp?$rk}5$q~~5$jt~5$?$j)$y
/$s#$i%$x$$s#$A$=$ik~5$pr~5$w6$u%$tyS$ilT$*$ou~5$~qi6$yA$}r~5$m$$no~5$o*$X$($
tkU${oU$s$$.$y$$}tk3$j}j3$qxi6$rpi6$oxj6$tkj6$=$Y$}rl6$tnl6$M$irm6$k4$rqm6$E$
nvW$wxW$twW$#$opX$M$M$K$k&$lsX$q{X$}~o6$t|o6$}np6$pjp6${vn4$n~m4$iwr6$Q$u,$pt
j9$;$izY$iks6$$$q#$W$~ls6$%$#$y#$p}Y$omZ$jlZ$k'$}}m9$liu6$s%$w%$~zZ$ozo9$tjv6
$kuv6$y#$zsv6$m($lx[$}i\$7$-$uux6$i;$#$nly6$t|[$wrt9$npy6$)$jw\$wlu9$nky6$ln]
$mp]$,$]$sk|6$rx{6$tr]$w{]$m%$}%$rl^${iz9$a$niz9$uvz9$li}6$qr}6$|o}6$i)$9$mu~
6$s&$ts~6$wii7$l~~6$}yu4$p|s7$oj`$m'$xl`$kr`$vrH$y~|8$?$j{V$5$~pt4$)$qj.$|mo#
$mra$.$G$|pR$yrR$'$7$u#$ynl7$znl7$}$$m&$u&$p,${-$w#$i*$r7$w*$'$C$kol7$};$r-$t
nm:$ilc$'$i#$}~r7$zwr7$qzm7$rto:$+$mjp:$k:$tmq:$kpd$;$9$'$w%$d$i,$z#$u-$l'$}%
$Y$rle$yte$c$tte$m}e$)$}nr7$pzq7$1$lmf$yof$rzx#${lu;$u0$p|x:$5${rg${&$k.$o2$w
xt7$zpt7$O$i($m($kmv7$lyq%$jz{1$@$u$$ut|1$zu{1$}($yp{7$Y$tiz7$o($c$q{z7$rzz7$
y9$o.$%$l($sB$[${x|7$zl{7$vip#$wmp#$su|7$|yt;$w~p#$|i\$wr\$}ji8$m3$rky;$3$suq
#$mnk8$p|z;$ks{;$~vk8$#$_$sxl8$v}k8$x{q#$mlr#$o+$Y$o%$rqr#$}nk<$lro8$o;$i1$|s
t#$a$yzt#$w|r8$t~o<$ump<$}7$y+$xps8$jzu#$yiv#$-$1$7$1$m#$isv8)";
const char kClassNames[] =
R"(lu=uppercaseletter ll=lowercaseletter lt=titlecaseletter casedletter=lc
lm=modifierletter lo=otherletter l=letter mn=nonspacingmark mc=spacingmark
enclosingmark=me combiningmark=m=mark decimalnumber=digit=nd letternumber=nl
no=othernumber n=number connectorpunctuation=pc dashpunctuation=pd
openpunctuation=ps closepunctuation=pe initialpunctuation=pi
finalpunctuation=pf otherpunctuation=po p=punct=punctuation mathsymbol=sm
currencysymbol=sc modifiersymbol=sk othersymbol=so s=symbol posixpunct
spaceseparator=zs separator=z cf=format
cs=inhighprivateusesurrogates=inhighsurrogates=inlowsurrogates=surrogate
co=privateuse graph print space=whitespace=wspace assigned cn=unassigned
unknown=zzzz c=other any cc=cntrl=control common=zyyy ascii=inbasiclatin
blank patternwhitespace=patws newline term=terminalpunctuation
sentenceterminal=sterm patsyn=patternsyntax qmark=quotationmark emoji
ecomp=emojicomponent caseignorable=ci hyphen ahex=asciihexdigit=xdigit
hex=hexdigit latin=latn dia=diacritic omath=othermath math sd=softdotted
inlatin1supplement extendedpictographic=extpict olower=otherlowercase cased
lower=lowercase incb defaultignorablecodepoint=di graphemeextend=grext word
idcompatmathcontinue changeswhencasefolded=cwcf ext=extender xidc=xidcontinue
idc=idcontinue oidc=otheridcontinue inlatinextendeda
changeswhentitlecased=cwt changeswhencasemapped=cwcm
changeswhenuppercased=cwu dep=deprecated inlatinextendedb inipaextensions
inspacingmodifierletters bopo=bopomofo incombiningdiacriticalmarks
inherited=qaai=zinh alpha=alphabetic alnum oalpha=otheralphabetic
odi=otherdefaultignorablecodepoint greek=grek ingreekandcoptic xids=xidstart
changeswhenlowercased=cwl copt=coptic=qaac cyrillic=cyrl incyrillic
incyrillicsupplement inarmenian armenian=armn inhebrew hebr=hebrew
arab=arabic pcm=prependedconcatenationmark inarabic bidic=bidicontrol
mcm=modifiercombiningmark syrc=syriac insyriac inarabicsupplement thaa=thaana
inthaana nko=nkoo innko samaritan=samr insamaritan mand=mandaic inmandaic
insyriacsupplement inarabicextendedb inarabicextendeda deva=devanagari
indevanagari graphemelink=grlink beng=bengali inbengali
ogrext=othergraphemeextend graphemebase=grbase ingurmukhi gurmukhi=guru
ingujarati gujarati=gujr inoriya oriya=orya intamil tamil=taml telu=telugu
intelugu kannada=knda inkannada malayalam=mlym inmalayalam insinhala
sinh=sinhala inthai thai loe=logicalorderexception inlao lao=laoo
tibetan=tibt intibetan inmyanmar myanmar=mymr geor=georgian ingeorgian
inhanguljamo hang=hangul ethi=ethiopic inethiopic inethiopicsupplement
cher=cherokee incherokee inunifiedcanadianaboriginalsyllabics
canadianaboriginal=cans ogam=ogham inogham runic=runr inrunic tagalog=tglg
intagalog hano=hanunoo inhanunoo buhd=buhid inbuhid tagb=tagbanwa intagbanwa
khmer=khmr inkhmer mong=mongolian inmongolian variationselector=vs
ids=idstart oids=otheridstart inunifiedcanadianaboriginalsyllabicsextended
limb=limbu inlimbu taile=tale intaile newtailue=talu innewtailue
inkhmersymbols bugi=buginese inbuginese lana=taitham intaitham
incombiningdiacriticalmarksextended bali=balinese inbalinese insundanese
sund=sundanese batak=batk inbatak lepc=lepcha inlepcha inolchiki=olchiki=olck
incyrillicextendedc ingeorgianextended insundanesesupplement
invedicextensions inphoneticextensions inphoneticextensionssupplement
incombiningdiacriticalmarkssupplement inlatinextendedadditional
ingreekextended ingeneralpunctuation joinc=joincontrol lineseparator=zl
paragraphseparator=zp dash insuperscriptsandsubscripts incurrencysymbols
incombiningdiacriticalmarksforsymbols inletterlikesymbols innumberforms
otheruppercase=oupper upper=uppercase inarrows inmathematicaloperators
idcompatmathstart inmiscellaneoustechnical emojipresentation=epres
incontrolpictures inopticalcharacterrecognition inenclosedalphanumerics word]
inboxdrawing inblockelements ingeometricshapes inmiscellaneoussymbols
ebase=emojimodifierbase indingbats inmiscellaneousmathematicalsymbolsa
insupplementalarrowsa brai=braille=inbraillepatterns insupplementalarrowsb
inmiscellaneousmathematicalsymbolsb insupplementalmathematicaloperators
inmiscellaneoussymbolsandarrows inglagolitic glag=glagolitic inlatinextendedc
incoptic ingeorgiansupplement tfng=tifinagh intifinagh inethiopicextended
incyrillicextendeda insupplementalpunctuation radical han=hani
incjkradicalssupplement inkangxiradicals innoblock idsb=idsbinaryoperator
inideographicdescriptioncharacters idst=idstrinaryoperator
idsu=idsunaryoperator incjksymbolsandpunctuation ideo=ideographic inhiragana
hira=hiragana inkatakana kana=katakana inbopomofo inhangulcompatibilityjamo
inkanbun inbopomofoextended incjkstrokes inkatakanaphoneticextensions
inenclosedcjklettersandmonths incjkcompatibility
incjkunifiedideographsextensiona uideo=unifiedideograph
inyijinghexagramsymbols incjkunifiedideographs yi=yiii inyisyllables
inyiradicals inlisu lisu vai=vaii invai incyrillicextendedb bamu=bamum
inbamum inmodifiertoneletters inlatinextendedd sylo=sylotinagri insylotinagri
incommonindicnumberforms phag=phagspa inphagspa saur=saurashtra insaurashtra
indevanagariextended kali=kayahli inkayahli rejang=rjng inrejang
inhanguljamoextendeda java=javanese injavanese inmyanmarextendedb cham incham
inmyanmarextendeda taiviet=tavt intaiviet meeteimayek=mtei
inmeeteimayekextensions inethiopicextendeda inlatinextendede
incherokeesupplement inmeeteimayek inhangulsyllables inhanguljamoextendedb
inprivateusearea incjkcompatibilityideographs inalphabeticpresentationforms
inarabicpresentationformsa nchar=noncharactercodepoint invariationselectors
inverticalforms incombininghalfmarks incjkcompatibilityforms
insmallformvariants inarabicpresentationformsb inhalfwidthandfullwidthforms
inspecials linb=linearb inlinearbsyllabary inlinearbideograms inaegeannumbers
inancientgreeknumbers inancientsymbols inphaistosdisc lyci=lycian inlycian
cari=carian incarian incopticepactnumbers ital=olditalic inolditalic
goth=gothic ingothic oldpermic=perm inoldpermic ugar=ugaritic inugaritic
oldpersian=xpeo inoldpersian deseret=dsrt=indeseret inshavian=shavian=shaw
osma=osmanya inosmanya osage=osge inosage elba=elbasan inelbasan
aghb=caucasianalbanian incaucasianalbanian vith=vithkuqi invithkuqi
todhri=todr intodhri lina=lineara inlineara inlatinextendedf cprt=cypriot
incypriotsyllabary armi=imperialaramaic inimperialaramaic
inpalmyrene=palm=palmyrene nabataean=nbat innabataean hatr=hatran inhatran
phnx=phoenician inphoenician lydi=lydian inlydian
inmeroitichieroglyphs=mero=meroitichieroglyphs merc=meroiticcursive
inmeroiticcursive khar=kharoshthi inkharoshthi
inoldsoutharabian=oldsoutharabian=sarb inoldnortharabian=narb=oldnortharabian
mani=manichaean inmanichaean avestan=avst inavestan
inscriptionalparthian=prti ininscriptionalparthian inscriptionalpahlavi=phli
ininscriptionalpahlavi phlp=psalterpahlavi inpsalterpahlavi oldturkic=orkh
inoldturkic hung=oldhungarian inoldhungarian hanifirohingya=rohg
inhanifirohingya gara=garay ingaray inruminumeralsymbols yezi=yezidi inyezidi
inarabicextendedc oldsogdian=sogo inoldsogdian sogd=sogdian insogdian
olduyghur=ougr inolduyghur chorasmian=chrs inchorasmian elym=elymaic
inelymaic brah=brahmi inbrahmi kaithi=kthi inkaithi sora=sorasompeng
insorasompeng cakm=chakma inchakma mahajani=mahj inmahajani
insharada=sharada=shrd insinhalaarchaicnumbers khoj=khojki inkhojki
mult=multani inmultani khudawadi=sind inkhudawadi gran=grantha ingrantha
tulutigalari=tutg intulutigalari newa innewa tirh=tirhuta intirhuta
sidd=siddham insiddham modi inmodi inmongoliansupplement takr=takri intakri
inmyanmarextendedc ahom inahom dogr=dogra indogra wara=warangciti
inwarangciti diak=divesakuru indivesakuru nand=nandinagari innandinagari
zanabazarsquare=zanb inzanabazarsquare soyo=soyombo insoyombo
inunifiedcanadianaboriginalsyllabicsextendeda pauc=paucinhau inpaucinhau
indevanagariextendeda sunu=sunuwar insunuwar bhaiksuki=bhks inbhaiksuki
marc=marchen inmarchen gonm=masaramgondi inmasaramgondi gong=gunjalagondi
ingunjalagondi maka=makasar inmakasar kawi inkawi inlisusupplement
intamilsupplement cuneiform=xsux incuneiform incuneiformnumbersandpunctuation
inearlydynasticcuneiform cpmn=cyprominoan incyprominoan inegyptianhieroglyphs
egyp=egyptianhieroglyphs inegyptianhieroglyphformatcontrols
inegyptianhieroglyphsextendeda anatolianhieroglyphs=hluw
inanatolianhieroglyphs gukh=gurungkhema ingurungkhema inbamumsupplement
mro=mroo inmro tangsa=tnsa intangsa bass=bassavah inbassavah hmng=pahawhhmong
inpahawhhmong kiratrai=krai inkiratrai medefaidrin=medf inmedefaidrin
miao=plrd inmiao tang=tangut inideographicsymbolsandpunctuation nshu=nushu
khitansmallscript=kits intangut intangutcomponents inkhitansmallscript
intangutsupplement inkanaextendedb inkanasupplement inkanaextendeda
insmallkanaextension innushu dupl=duployan induployan
inshorthandformatcontrols insymbolsforlegacycomputingsupplement
inznamennymusicalnotation inbyzantinemusicalsymbols inmusicalsymbols
inancientgreekmusicalnotation inkaktoviknumerals inmayannumerals
intaixuanjingsymbols incountingrodnumerals inmathematicalalphanumericsymbols
sgnw=signwriting insuttonsignwriting inlatinextendedg inglagoliticsupplement
incyrillicextendedd hmnp=nyiakengpuachuehmong innyiakengpuachuehmong toto
intoto wancho=wcho inwancho nagm=nagmundari innagmundari olonal=onao inolonal
inethiopicextendedb mend=mendekikakui inmendekikakui adlam=adlm inadlam
inindicsiyaqnumbers inottomansiyaqnumbers
inarabicmathematicalalphabeticsymbols inmahjongtiles indominotiles
inplayingcards inenclosedalphanumericsupplement regionalindicator=ri
inenclosedideographicsupplement inmiscellaneoussymbolsandpictographs
emod=emojimodifier inemoticons inornamentaldingbats intransportandmapsymbols
inalchemicalsymbols ingeometricshapesextended insupplementalarrowsc
insupplementalsymbolsandpictographs inchesssymbols
insymbolsandpictographsextendeda insymbolsforlegacycomputing
incjkunifiedideographsextensionb incjkunifiedideographsextensionc
incjkunifiedideographsextensiond incjkunifiedideographsextensione
incjkunifiedideographsextensionf incjkunifiedideographsextensioni
incjkcompatibilityideographssupplement incjkunifiedideographsextensiong
incjkunifiedideographsextensionh intags invariationselectorssupplement
insupplementaryprivateuseareaa insupplementaryprivateuseareab)";
const char kClassEdges[] =
R"($$$%$'$*$+$3$B$C$c$w%$i*$s+$k7$qN$oq#$}|#$il($mv0$utA$oqc$yj{%$ws~+$qjk8$s
oo8$k}|P$qlll$$}vvv($q~}r0$}pqu1$ivuu1$kkiiq%$ypllx,$wiwvx9$sqvuyS$t~~}ua$x||
{qb$w}yvxq)$zupllx,$mzjytp7${siwvx9$ypt~sjD$lxymiqD+#Cl$Ds?inor$d=)=R$2$(:$B$
n4J((%7k%$,$)$$$z<$)$1$&$C$}&$o7$x%%nX$n2'i-$|d&j#%j)%$$xW$0$*'$)$&%$~B/%z#$.
&.$24DbI$&%)$>$4L&'k>9.8iJs+q<%C$v$k7k$k28$$$<2+''~#%&$}#%t&3CI,$ScBt#R${#s's
o-csyNEs$&p'-}*$k'$z1$1%}}J%o)-9F$6$'t&$$C=)=.-$P%c*$*-(u+&'P&,s#0VPm*>i|k$'u
z'm+)w3}&k%_i+-J%a&4+%*A'`t)7/7/z#,<~%x#$j#$%%$%%%'$/$$$*$d$'%+$*$?$'$($$&*$o
/%k-%Uxs*go#`}?O'q$/2%2$2$H-y'[=$%0O',*%1){&uL'4&0&n%'l$)/'$2/'[+-)K+A%/'%ao/
/1%0&-([*2%.),*t&$s$vwvi#$Am$'yvk2w%(ivuu1|oor$$7nuor$(5$q$$yp0%;%'sutq$$}49$
-$$$.%&$uE$+$l7$\$k#$1$$&i($N.$$t*%Y)$+B$x+%sY%w'$')~-%xC+~B$s%&j#%~&&&$J'%%k
.%}/'m'%-%$&@&p((a%mJ$:%,&rq&&y-$0$'$-$$%&%o3%ju]%j,&l*(m1%y#%l$$x&&t&&v%$3%l
+$ykK$%%\&$'t'$-$$$.%&$d$%$iQ$S$sT$|($}-%y&)g)|#'kK(O'r(*}$'v%&x%%)$3%{#(y$$q
-%l%&/%k0'&2v$%l+&p7$$$n+%z#%'%w2&P$l=%m#%~[(jxD%|%$d&-$~8%n-%y}H$zs/'{/{v||#
$/$3$p]$t&&i($N&i+$`$$$&%l-%ip#%yC$'%~B${(%~&%P$($k.%}/'m'%-%%%@&p(%d%mJ$:%,&
rq&&y-$0$9%p3$ku]$k,%l*$&$m1%y#%l$$y&%t&&q&%l+$ykK$%%^$&%t'$/$3$d$os%%|Y(O'r(
%l%'v%&x%%)$3%{#%$%y$$q-%l%%z0%(2v$%l+&p7$$$n+%z#%}2%o?%m#%rrG%|%$d%.$~8%o-$y
}H${s/$}$}v||#2-*='$$='E*$$$%$$$%'$'$&$:$B$wk0;+2%6$-x-u@k's<AoSk7w%p1&'<2$|k
v$%x+%W~kml$$'$z%$2$yn0+<%jk'$v4'0&rxv$'r($'$}#%k;jull$$)$(-|$$'$~p0$/$w)$9$}
#)2%t0%/$q'$<.'&|($p*%-$,$]'$(,$%$%%%$'$%$$%%$&$&%+&($$$(/.%%$$%$$5$%%5)$$$%&
%($%%'%.%(%%$(%$$$%7%()$'%$'$%$%)$$%$$$$$)$&$)$-%2$%$'$$$'&$$.%S&,$1$1$y0%|4&
6%V$'$oX$/$l;$$${nq*$i)$k'%/%1$%-n#=$%:$7$%,8%y'E%}$%%$&%v#%&$z+$b.)$;*%%+/$%
'%$'%0%%$+%,$(&/&+&%$$$'$)$&$)y#Si#(+%&'-&$$%&$%-l*/'$x,R$-$n(}$0&-([*2%.),Ku
sk|#$)$(-lt0$t)$rw~$$mwt%=|6(ib's}wi#m$d}lwv|,txk2$)$.$s%$t@$n5$u&$~s-%-$%$lj
i%$a$%$|'$)$.$K{xll$$v%$qX$|r)$p}#%~j'$rA$~ov$$t'$z#$/uull$-*)=);zror$-*)=)lq
z%-*)=)}&ywll$=)=R$2$(:$B$n4J(vs-I)T('(0$i#ds+v0$0$30n&%)$>$4L~q%C{t`s$&f%%$$
$+81}DN$,$'}yI*uO=)=v~#)$M$,zt{$B))yFzoz|#$$$j#$)$'$%%x6j'$+()4%'$,%p+(p)$Z4$
>$$$%$$}%+'%}%%'%&&f>~#.].E%u%+L-3?`$3$&'?$m#$3${$$3${$$3$R&_$3$*$n%${$$3${$$
3$z$%3$s%$|$$/)$$x$$0(n#%>$$$$$'%e&$%a$}$$$%K%'(<*$$-%|?&}J%A$u&.,$v/&k-$7+%$
S2%.u$$2$I,Y%]$.%e%c)u#<'$)$%&Ub|#/H.j4$$&.&0&0&0%qt&&n.${6)v$'l$$sz]$/%$$?%u
#%1Es$&z$%/$H$x&$>5\'G$l$$/$G$v&&d'V$q$(,&w%%ouI$zB3k,$$$R$P%f$uB$vU)$M$,z<&'
$p'%z9)I$=(~1&i#.T'u($L$k#%o%%a$o#$,&u$%}'%s#%3$;*&(|#&$%0%l$$&$r%%n+%u%$m%%j
%$j,%u+%'$}&$v#$5$t#$~2$u+$$%t#$l3%:$oy*2xq7$o{$(^*s9%w84s#%stA'$*$%vj0Q%:u8&
&)++%*A'wp'aw(*|0$`'wB%oA*z$&$&m8~}t|#$|G&%$=%%%ku.$>&.$C';%1%d0'$&%'(5$'$%-$
$&()$&%%%$&$)&'((n#(%'$%$%$$$(%%'%'5%%$$$*$$)%i-'s'%$$;$4$j4%/,(((%%%&(1$$$%)
;%\$$$@',%q/%B-l29b'C%niz$$$$'$r)$$$tmz$x#$j#$%%$%%%'$/$$$*$d$'%+$*$?$'$($$&*
$o/%<$<$B$<$B$<$B$<$B$<$+%U{o+'$>$%$$%$$-$'$$$$)$'$$$$$$&$%$$%$$$$$$$$$$%$$%'
$*$'$'$$$-$4(&$($4n8soo8wjr|#$|G&%$=%%%ku.$>&.$C';%1%d0'$&%'(5$'$%-$$&()$&%%%
$&$)&'((n#(%'$%$%$$$(%%'%'5%%$$$*$$)%i-'s'%$$;$4$j4%/,(((%%%&(1$$$%);%\$$$@',
%q/%B-l29b'C%niz$$$$'$r)$$$tmz$x#$j#$%%$%%%'$/$$$*$d$'%+$*$?$'$($$&*$o/%<$<$B
$<$B$<$B$<$B$<$+%U{o+'$>$%$$%$$-$'$$$$)$'$$$$$$&$%$$%$$$$$$$$$$%$$%'$*$'$'$$$
-$4(&$($4i&lkr|#%y($v,$A$W$7$q.$o$$$$l},$V$0$&${%$~&$~2$u)%kv%$ty{)%U%U%U%U%U
%U%U%U%U%U%U%U%im$$x-%=$'|xy|#w%i.pqor$$'$~p0$/$w)$9$}#)2%t0%/$l$$i#$<.'&|($p
*%-$,$]'$)$/$i%-m%%.$$$$)$&$)$-%2$%$'$$$'&$$.(P&,$1$1$y0%|4&6%V$'$oX$/$l;$$$w
nq*s+0&B$_)/%1$%-5\>2-$7$%,$',u3(o.+}+Sw%k%/x#N/'[+-)K+Au#/R$-$|3s+oN}$oki|#$
2$v6,*%A(m$$W$~z&$vk&b0$EHl?$0$30r)3qF=}w#%{n`%q)$x%&&%mG',$qqP$%&$M$,vl|$at+
2uzy|#$2$i7*)/=$$$y#$Q${5$o*$o'%j,%'$B$,$&$k'$r'$iX$v%$os$$x$$v;$}4)wXCmEW~l$
$t($l5$N(($n$%j$&srZ$wX)k,$i%$x&,u$$o:$9$j&$y$$8%|pL$P%t{#%nc$C$soQ'}6&K%{80c
%$$kuA'$*$%ux9*vJ$xR$w{#=)=)=~*-syp|#$2$i7*)/=$$$y#$Q${5$o*$o'%j,%'$B$,$&$k'$
r'$iX$v%$os$$x$$v;$}4)qY3qF=~l$$t($l5$N(($n$%j$&srZ$wX)k,$i%$x&,u$$o:$9$j&$y$
$8%|pL$P%t{#%nc$C$soQ'}6&K%{80c%$$kuA'$*$%ux9*vJ$xR$t7ixllx,tku|#${:}$p,*z+P$
$$%$%$$[)-.$$Q83$r$+$)%%$'D$$$A>~#.],,$;'$,$&$(N&W%(,M\Z$$$'++*-%@$]$''@%=$%%
\$'%'%%&&$A%&$.%\$'($%<%9)$$]$%$$'3%.%A$`$/$U$&$Z$$&(&$&+%.%@$]$%$)$(%7%?%\%'
'5$n%$2$~t$$A$x)$sD$($$$(%r$$j#%rO%$%=(T($-ii(%ry_$y$$yyL$i'%|#&zt($2${*$k%${
+$1$,$m$$,$%$$&($i*$/$z*$y+$v<$/$ze$qy*3qn?%knH'pw*%)1o}1(r|zi#$gpnl2$r>$q@${
v%%ri#%x#(x|#(=(T3kw($x|u$3x*$k'$r#,jsm$'~w*+jlwj#il(j,ixllx,nzy1$y])9$u($T$o
1%s#$z)$;$k0$;$s$$;$q*$$$'%$%,%t$$;$n%$2$~t$$A$x)$sD$($$$(%r$$j#%rO$$&=(T($-i
i(%ry_$y$$yyL$i'%|#&zt($2${*$k%${+$1$,$m$$,$%$$&($i*$/$z*$y+$v<$/$ze$qy*3qn?%
knH'pw*%)1klwj#$@ri&unl2%($%&px2Wyky*=)=)=k#{yp|#%(${r0$&.$2x0$'$9$wvl*$<$B$<
$B$<$B$<$B$<$~,(|q~|#$L$v$$X$r4$s%$0*<%&$j2${k'y#%){l$,|7%m*+++++-&%$-&%$M&%$
}+$'$&&%&%$&()$&$&%%%$$-%($=3}E=q|fs#ivI*/({q|$======$$%%$%%%'$+===%$'%+$*>%$
'$($$&*>===========A<D<D<D<D<D$o'wq~|#$m8%yG$|3$s<$j&$|#$iB$v%$vu$$[$v;$}1$g$
li*$N(t$%j$&srZ$me$uK$9$j&$y$$8%|pL$w}#%nc$>$'$rW$l-$k%%s6&zW$rpJ%sU%$$yv[%rV
$uF&x#vy%mlu|#$}?$/$vj(,qj#$|g%}+$8$ku&$p@$snu$)o2%k%$$$$$$$$$$$$$$$o*$Pvy%x{
ll$$t@$vj(,qj#$|g%}+$8$ku&$~;%k$$x{v$$?x{ll$$t@$vj(,qj#$|g%zv($x{v$$'iiml$w%t
1%iror$$w#$?%1$&$($%$%$I$R$5)>$%$$$%&%$'$(%$$%%$*$%$$%&)($$$+%4v&$k($~/$J$jw%
N%&si&Ob0%&$3$/t+%$$};$&%&$>$'$'$%%+'I3qF=rw#$%$%(u$$|p`%b+8$)$<$F$$$G$lEF$*(
,nvz&==*$5==='$$$*$.=================??<$)=<$)=<$)=<$)=<$)$$ws#-$7))|1*xyz|#$
w#$?%1$&$o$$5)>$%$$$%&%$'$(%$$%%$*$%$$%&)($$$+%4v&$m&&J$~/$J$|j,Ob0%&$3$/t+%$
$u;$'$%-$$&()$&$&%$&$%'$%'((9CmEWrw#$%$%(u$$|p`%b+8$)$<$F$$$G$lEF$*(,juz&x#$j
#$%%$%%%'$/$$$*$d$'%+$*$?$'$($$&*$o/%<$<$B$<$B$<$B$<$B$<$+ws#-$7))r0)xyz|#$w#
$?%1$&$o$$5)>$%$$$%&%$'$(%$$%%$*$%$$%&)($$$+%4v&$k($~/$J$|j,Ob0%&$3$/t+%$$};$
&%&$>$'$'$%%+'I3qF=rw#$%$%(u$$|p`%b+8$)$<$F$$$G$lEF$*(,nvz&==*$5==='$$$*$.===
==============??<$)=<$)=<$)=<$)=<$)$$ws#-$7))Cszz|#$|[$xr$$$$z~#%|o$)t?%qy~t#
$'}wl2o)'#m$'#s#/otor$%nj8N}$C'o{lq$}$k%mpor$}$r,%q4.=$oA'z{(Bl7&$0$*'$)$&%{(
cw7%w(D~x''x$%|ov$331lL$k*$kp($y~l$Q%:u8&4+%*A'quwj#y*~Nr;jvl2$@0i:1$$$%$%$$k
#.S0$*3$r$*''%%'$F$A3s$.r$%&,$&$'w$$_/&*)6Z$)+/&-%@$b'@%@%a%'%%%'$A%&$.%a($%<
%9&'$`$$'4$.%A$`$b$&$\&(&$&+%.%@$`$)$($8%?%b'@%@$s#&$$}#$%*5$p$$%)$%3$}$%T1$'
,.$G}$'$()%<%'&3'0$%%)$2$}j#%$$?&@%A%f*+$s(%E$m%&'%,$m*%%$]$$*&$%+)%m#%.&T'U(
$$($$$^%C'%&$%]%&$$([+%$u'$8$z)Ern#Wkr$Cm9%in^+E%}/$+$<%i'$\$I(?.$$O&V'%%%$G$
f)%%%%/$+$R$V$$&%%($P%j+$%$&$puI$|j$(yk#&$%('wC'd$r.%r#$w+$Y1P%.%T'.$`&G($)p#
%W,$$1$l$&%%$$)$%$~&$&):%a$/$z$)1$u$+&%{$)$$'%z*')%A%x#+%$%$w$$$$%*s$$$$%'$'w
+,v+&w&'%%H-M'%'5)%&Q0r2*$)w#9%*$%$%q%)&$$%$&$$&$k#%&$x/%.%W((%mtB/&%ml'$b'pr
H$uw*%))lq'*$4%*$%$(q$$no$${{#=)=)=~NjGzkr|#$@0i:1$$$%$%$$k#.S0$*3$r$*''%%'$F
$A3s$.r$%&,$&$'w$$_/&*)6Z$)+/&-%@$b'@%@%a%'%%%'$A%&$.%a($%<%9&'$`$$'4$.%A$`$b
$&$\&(&$&+%.%@$`$)$($8%?%b'@%@$s#&$$}#$%*5$p$$%)$%3$}$%T1$',.$G}$'$()%<%'&3'0
$%%)$2$}j#%$$?&@%A%f*+$s(%E$m%&'%,$m*%%$]$$*&$%+)%m#%.&T'U($$($$$^%C'%&$%]%&$
$([+%$u'$8$z)Ern#Wkr$Cm9%in^+E%}/$+$<%i'$\$I(?.$$O&V'%%%$G$f)%%%%/$+$R$V$$&%%
($P%j+$%$&$puI$|j$(yk#&$%('wC'd$r.%r#$w+$Y1P%.%T'.$`&G($)p#%W,$$1$l$&%%$$)$%$
~&$&):%a$/$z$)1$u$+&%{$)$$'%z*')%A%x#+%$%$w$$$$%*s$$$$%'$'w+,v+&w&'%%H-M'%'5)
%&Q0r2*$)w#9%*$%$%q%)&$$%$&$$&$k#%&$x/%.%W((%mtB/&%ml'$b'prH$uw*%))lq'*$4%*$%
$(q$$no$${{#=)=)=oMzkr|#$@0i:1$$$%$%$$k#.S0$*3$r$*''%%'$F$A3s$.r$%&,$&$'w$$_/
&*)7Y%%2$%(&-%@&]*%%%%-$-%@&]('%%%'$A%&$.&]+$&$%8%9&'&]*%%%%,%-%A$^(&&$&-$K(\
*$&$&+%.%@&]*$&$&+%.%2$/']*$&$&-$-%@&n#)$$$+5%`$%*5$p$$%)$%3$n'6,.$G{$/$$%':'
'&$&%*&'0/$$-'}j#%A%A%A%e6q(%E$m%/',})(\-%7m#%.&T(S2_&A,%%\.U6u2Ern#Wkr$Csq_+
E%}/$+$:({#%U3$$\$I(?/P'S/H$f1/$+%P&U$$&%%($O(($v*+ruI$|j$(yk#&$%('wC'd$r.%r#
$v+&X1P%.&P,,$`&G/5%\&S01%i$,%$)$%$~&-:']*%%%%-$-%w#,$$%$$'$%t$0$&w$5v**%*@%u
#2$$w$.t$1t+0j+)$%%%&$$$o&*%)'$?-M($'5.Q1p2+$*v#9$1q%)&$$%$&$$&$e($%$'w/',%$$
S*&&ntB4ml'$$Z*'j$%inH$tq2*$4%*$%$(q$$no$${{#=)=)=Onlr|#$rk'%ri#%|n$$uw($vyv$
$r#,~}wo#$$Am$w%y*sk'q&qn{1'$&%'$$'$$$$&$$$7$b13s~,(U('(w#$q.9%)%I%)%+$$$$$$$
B%X$2$1%)$6%&$,n-$szh${jMr#4$t|w$i#'uyl}#q&l#t8moor$$up%$v%$j|$%tm$$8$ku&$iyv
$)o2%k%$$$$$$$$$$$$$$$|,%r((mqnl$&pk/$'$&&%&%$&()$&$&%%%$$-%($=3}E=oyi*======
$$%%$%%%'$+===%$'%+$*>%$'$($$&*>===========A<D<D<D<D<D$/tjj}#1{k5k%(*Km|oq$|%
%t'ki,.k'$o#$xp(Cko_m$w~M%wmk%aD$'{s{|#s+'#S'#m$3~por$I%U%&xtu%('mxql$}$Gnpor
$Z+>')upu%=$($$$%$%$-u*yzql$($)$1$&$C$-.=$y$$Es#Sy*B$%(n#$@s{s%j%3p0%s#%Y*$C3
}$($~%|z'Bf&Z'yvi%'$>$%$$%$$-$'$$$$)$'$$$$$$&$%$$%$$$$$$$$$$%$$%'$*$'$'$$$-$4
(&$($4W%?y}t|#)v)$T$o1%s#$kni&$2$'wr|k$s+3}jor$$xq-%=(Z'Gyywq$%%$z%$)$&%x5%$&
&$B$3utnr$1$_%&m,.'zznr$s#'#S'#U'isor$c+#^%&'qror$c+#Q%2'rror$c+#?%$'|sor$C'#
3'#S'#m$7#t#'2%=q~s#Cq~[-'svxk$w%q*~ror$$v%$v%$v%$v%$v%$v%$v%$z$%3$s%$|$$v%$~
($i(%to#%A$~&$t=$l*$r$%i#%~}($us`$H$x&$o&$y$$|-$i+$puQ$}e$L$1$\$p%%l&$k%$i($o
$$w%&~$$v%$o+$v%$m%$k%$j,$v+%l'$v#$5$t#$~2$w+%t#$l3%}tB$[izij$'$+%%%9$*$$&'%,
%%%'+$'%$(%<'toor$w%y(oror$$;$k0$;$s$$;$q*$$$'%$%,%t$$;$n%$2$~t$$A$qN$($$$(%r
$$j#%sO$tm(%ry_$y$$~jM%yn)$k%${+$1$,$m$$,$%$$&($i*$/$z*$y+$v<$/$ze$wpJ%zmS%))
|mwj#m$r(|lssCkzp2$;$k0$;$s$$;$q*$$$'%$%,%t$$;$n%$2$~t$$A$qN$($$$(%r$$j#%mq*%
ry_$y$$~jM%yn)$k%${+$1$,$m$$,$%$$&($i*$/$z*$y+$v<$/$ze$wpJ%zmS%))'twp}#w%ctoo
r$&$)'%%9$*$%$%$%%$$('%%&&$*'$$*4',w%[toor$&$,$&$9$*$%$(%-$&$&%$2'%/**'#w%[to
or$&$+%%%9$*$%$(%,%%%&*&'%$(%5'+w%k#uoor$%$)&&$'&%$$$%&%&&&/'(&&$'%$)$18zto&U
0$Wwuwk$0$&$:$3%,$&$'*%$&%$%'%-*,'soor$w%W#0$&$:$-$(%,$&$'*%)%$'%-$&'ipor$w%?
#0$&$V$&$)'3%='soor$w%'#w%Wtoor$&$5&;$,$$%*&$')$$$+)-%&ql}%7'pjjl$w%+toor$](?
?itor$(r%(ks%&%${pl#%%$$%'n}tn$w%Otoor$%$$$($;$$$:%($$$*$-%'?Ck#$G'J$G$2$*'%'
pkor$s+'#k'3inor$k'kyp#Bn$Cm~X7Ks{~k$I$$($%N$'qz%N%&}n(I$$($'isvq$m$'#s+[wior
$s+iw/%t+k$~$BdBlu^@j=wy6/:'Tkw4B&)%)%)%&q&ryul$l#$'%*$$$'%L$'%D$'%*$$$'%2$\$
'%f%C&=mq-:,*$*$*$*$*$*$*$*}{a)%)%),*$*~lo'*$'$%$2'n~~|#o1'#C/#y#%)kzo#s#'kkw
n$m$'#}</mnnr$}<o9i#{~{%3'}|il$@'~sor$C+#n#&.'nqor$m$+#9,$'{sor$C'#8'ptor$C'#
7'qtor$C/#0$&$%'qtor$C3#k$%-)-}5C'mnnr$w%;#%%$$7)|#*Nj|y%0'x~ll${'3zmor$&$$so
m%3{syo#y*8t8p{w2%tm$$8$ku&$~;%3}zxq$%tm$$8$o{'%'||xq$s#7#B$/'/'$&/'wqor$s#+#
A%('vsor$S3#O'=).&%'}por$m$'#C+#?%%'{sor$C7#b$@%.)-)1'{nor$q&'#s#+#p#$U'soor$
w%'#c+qror$cs+++oior$W+''qror$c/#[&2&&'wqor$s#'#S'#3'#S'#3'#S'#w%'#c'#c'#s+'#
s+'#}$'ypor$%'=$'#$4il(L$J$2$u1$'nxnr$S'#S'#S'#s#'#c7ksor$3}E=}ly*=)=)=8$kjl}
#3}E=}ly*=)=)='oll}#}$'#s+Wyior$$'$9$wvl*$<$B$<$B$<$B$<$B$<$'}tz}#s+q.{jor$%l
)'&$%$t7%8%U/N$6$0$+%4%(%+$($8$*%$$'$%$*$'%?$F$$$'&$$`&;$1$|F%V$'$qku*$i)$s($
%-n#=$$;$7$%($&8%y'D/,$i#$9/N'(/4&$&j#$$$p(%b0'$;5$=%0$y#x#Si#)$&&%&''.%*,l*/
'$x,R$-$n(}$0&-([*2%.),'|r~|#c'#C'#k'4ri&}qor$Wyky*=)=)='o~m}#w%'#C'#m$'#s+k'
~jor$$z)$3'~my*$_&%$%&l%%%.86&$'&$&*$$$;$~(%'$8$'%y'&&(v#$3&,$.$~9$%$++)$,-%&
[$`%$%$$4&$0n*&M,'zij}#u('#S'#3'#s+'#w%'#w%'#s+'#s+'#m$;}por$m$}jl**$4%*$%$('
nj{}#C'#w%'#S/#[*%1$'wqor$s#'#m$'#C'#w%/#=$|#/u){#y{nr$=$|#/u)R$$$<,1'wKso-ci
jKsyNs0%w$wu]%/%k|k#w}w#Cwn()})%yu+1tk/2k<}y$s8odp|)(qp('qjkv#w%'#i*k)#3mzx$w
%{/CsKc{'Sm$c},Cy*s#s#Sm,o)wMSs;k'}4{'s#s#u(cm4m$s+c{'w-w%s#oakk%yz+mx-cqn#oI
s3cu(m$m$k'cup/u|1sCur${'iz'{?co)Sy:}$u(w%wm#iRi2}$s#q.}$}4So)Sw5s+Cm$sCs#cs#
{'s+s+si&qNw}w#CqrE{y$u8mdku2untbw%w%y*mjz%/s{k-%%-r6$'itnr$3'wtor$%'-%'#cw#w
ror$%<,1&xKso-cijKsyNs0%w$yu]$>yp,+kXL-r}2{1irHw}w#Cwn()})%yu+1tk/2k<}y$s8odp
|)(qp('y~kv#m$;~por$y#)&~r|(|,5$@&r|A$'l|s}#m$[~por$}#%&y*3o)R${#ovu$-$Pu}|#'
$*$%$$|,&U$1''mnji$S'#m$'#3'#C'#S'#3'#s+'#s+'#so-gw}wq$so-cijKyoO%$$$%-$$$$%%
&wl~%w}w#Cwn()})%yu+1tk/2k<ii)p|)(qp('iv{v#c'#ijK+#zT&Z'ximr$}T'#c'#S+ksor$Ss
u`$'vwpo$s-'w}nr$q.'#m$+#{#izo$x9'nkvm$m$'#C'#i*'#P'nsor$S'#3'#['yror$c+#i#+/
'mqor$m$'#C+#Q$$'ksor$S+#G.$'ksor$S'#C/#q#%-'%'}por$m$'#C3#Z,1%-%''}por$m$'#C
+#f;('}por$m$/#:~(Q%-'s~nr$C'#S'#c'#s#'#c'#mz6'#s#'}|#y|,'#k7'#s#'#k?i#ksor$C
y7%wj{%%wj{%%wj{%%wj{%%wj{%%wj{%%wj{%%wj{%%wj{%%wj{%%wj{%%wj{%%wj{%%wj{%%wj{%
%wj{%'uiz%3'#3'#3'#C'#C'#q&'#y*'#3?#/$=$6$%$2%1Er%'|ior$w%'#w%'#c'#s#'#c'#S'w
%@'~sor$C'#T'jsor$c'#C+#G,&'ksor$S'#>'jtor$C'#N'psor$S+#A$$'{sor$C+#G'1'{ror$
c'Cs#'#S+#A%-'qsor$S+#G'G'{qor$s#'#K'ssor$S+#W.$'qror$cC#.$2$*$%$.$2$*$%'zqor
$s#'#W'}ror$c/#~-,9-+'}znr$o1'#c;c)%$$O$%&$%$'qror$c+#9$,'{sor$C'#C+#B+,'ksor
$S/S6$%(('{sor$C+#?&$'{sor$C+#=($'{sor$C'cC/#;'7%Q'}por$m$C#'$%(+$&$@%&'-*,'n
qor$m$'#C'#C+CJ'/'zror$c+#Y&*'qror$c+#9%+'{sor$C+#6(+'{sor$C/#5*'/*'ksor$S's#
l#'~qor$s#/SV0V*)'soor$w%+#K+-'wror$c/#I&@+%'wqor$s#'o)C/#M$&%%'isor$c'#c'#K'
ssor$S'#M'qsor$c'#='ktor$c'#?'itor$S'#:'ntor$C/#q#'G,$'soor$w%+#f-$'yqor$s#+#
<*-'qsor$S+#X$5'iror$s#'#J'tsor$S'#m$'#C+#5$R'oror$s#7S*$$$'$2$.'qsor$S+#^(-'
}qor$s#_#'$+%%%9$*$%$(%,%%%&%$)$(*%*&('~oor$w%O#-$$%$$I$-$$%$$'$-$%+%'zpor$w%
+#i$$('{por$w%+#k#+-'mqor$m$+k'Y%I'iqor$w%+#h.-'mqor$m$'#C+#])-'}qor$s#'#S/#>
%2':'jror$s#'{'_'uror$s#+s#v#/$'}por$m$C#*%$%+$%$A$%%/,-'mqor$m$/c+%Q%.'lror$
m$'#k#'iror$s#'#v#'tqor$m$'#3'#\'xror$c'#m$+m$E1-'wror$c3#,$P$1-@'ppor$}$/#C%
9$1'jror$s#?c*$%$O&$$%$,+-'mqor$m$;#)$%$H$%$)*-'}qor$s#'w-<'ltor$C/#4$L&@'lqo
r$m$'s#3'#c3#yIs$|$$(.y('izlr$qN'#w%'#o)'kk%p$'zpor$}$'#uP+upmr$oR-r}''tm}q$S
'#w}''#p:'zpnr$}<'mx-]'wror$c'qn#i:/#B$-'%'ksor$S+#r#$-'mqor$m$+#A%)'usor$S7#
i#--$*$8(6'ynor$q&'s3]'wror$c'u(~#'lqor$m$/m$n#'\*4'inor$k'3c$Byp,+yBk7,'~kvq
$C+|sor$$wpB{1/ujxp$$ni.m5L$'{mvq$kq,'#yB'#k7'#w%'u|13'#s+'#S'#c'#i27ur$x$(0&
,*-%''inor$k''#3'iz'{?'co)'Ss+'#s+'#s#'}$C'#C'#m$'#C'w%qN/#s=2($2'ilnr$k?'iRs
+'#S'#m$3}$P&1%-'%'wqor$s#'q.B'|sor$S+#]($'qror$c'}4M'qsor$S+o)N'$'ksor$S'w5C
+#z(%3'tkor$i*/Co#'-'%'}por$m$'sCs#'cs#'{'s+'s+S'#}$'#m$'#s+'ktor$='#s+'#yB'z
snr$('k7s#'#S'#w%'#w%'#w%'#s+'#s+'#}$'#q&'#s+'qNw}w#'C}n('#i*'#qv+'#ml/'#m<'{
y$u8'mdu|)'#qp('untbw%'w%y*'mjz%yj{%%#)";

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
